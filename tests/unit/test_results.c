#include "steps/results.h"

#include "ground/fs.h"
#include "ground/memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        error_t err = ERROR_INIT;                                                                  \
        if ((call) != STATUS_OK)                                                                   \
            fail_msg("%s: %s", #call, err.text);                                                   \
    } while (0)

static int make_folder(void **state) {
    char *folder;
    error_t failure = ERROR_INIT;
    if (fs_temporary_folder(&folder, &failure) != STATUS_OK)
        return -1;
    *state = folder;
    return 0;
}

static int remove_folder(void **state) {
    error_t failure = ERROR_INIT;
    status_t status = fs_remove_tree(*state, &failure);
    free(*state);
    return status == STATUS_OK ? 0 : -1;
}

/* A case of mlp_infer with one round of samples per named phase. */
static case_result_t make_result(const char *engine, const char *variant, int64_t batch,
                                 const char *const *phases, double first_ns) {
    case_t spec = {.workload = mem_text("mlp_infer"),
                   .engine = mem_text(engine),
                   .device = mem_text(strcmp(engine, "cpu") == 0 ? "cpu" : "cuda"),
                   .variant = mem_text(variant),
                   .dtype = mem_text("f32")};
    case_add_param(&spec, "batch", &(value_t){.kind = VALUE_INT, .integer = batch});
    int64_t layers[] = {4, 5, 1};
    case_add_param(&spec, "layers", &(value_t){.kind = VALUE_INTS, .ints = layers, .n_ints = 3});
    char label[32];
    spec.id = mem_format("mlp_infer/%s/%s/batch=%lld", case_engine_label(&spec, label), variant,
                         (long long)batch);
    case_result_t result;
    result_init(&result, &spec);
    case_free(&spec);
    for (size_t i = 0; phases[i] != NULL; i++) {
        phase_t *phase = result_add_phase(&result, phases[i], CLOCK_HOST);
        double ns = first_ns * (double)(i + 1);
        phase_add_round(phase, (double[]){ns - 1, ns, ns + 1}, 3);
        phase_summarise(phase);
    }
    result.stop = STOP_PRECISE;
    return result;
}

static const char *const CUDA_PHASES[] = {"malloc", "h2d", "kernel", "d2h", "free", "total", NULL};
static const char *const PYTORCH_PHASES[] = {"init", "h2d", "forward", "d2h", "total", NULL};

static void write_header(const char *folder, const char *finished, const char *gpu,
                         const char *sweep) {
    run_record_t run = {.folder = mem_text(folder),
                        .started = mem_text("2026-03-02T10:15:00Z"),
                        .finished = mem_text(finished),
                        .seed = 42};
    text_list_add(&run.argv, "bench");
    text_list_add(&run.argv, "run");
    run.sweeps = mem_zeroed(1, sizeof *run.sweeps);
    run.sweeps[0] = (sweep_text_t){mem_text("sweeps/a.json"), mem_text(sweep)};
    run.n_sweeps = 1;
    environment_set(&run.environment, "gpu.name", gpu);
    environment_set_flag(&run.environment, "gpu.ecc", true);
    environment_set_number(&run.environment, "measured.copy_bytes_per_s", 4.3e12);
    environment_set_number(&run.environment, "host.load", 0.25);
    assert_ok(run_write_header(&run, &err));
    run_free(&run);
}

static void append(const char *folder, case_result_t result) {
    journal_t journal;
    assert_ok(journal_open(folder, &journal, &err));
    assert_ok(journal_append(&journal, &result, &err));
    journal_close(&journal);
    result_free(&result);
}

static void append_text(const char *folder, const char *text) {
    char *path = fs_join(folder, "cases.jsonl");
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(path);
}

static char *read_file(const char *folder, const char *name) {
    char *path = fs_join(folder, name), *text = NULL;
    size_t size;
    if (fs_exists(path))
        assert_ok(fs_read(path, &text, &size, &err));
    free(path);
    return text;
}

static void test_round_trip(void **state) {
    const char *folder = *state;
    write_header(folder, "2026-03-02T11:00:00Z", "NVIDIA H200", "{\"a\": 1}");
    append(folder, make_result("cuda", "01_study", 64, CUDA_PHASES, 1000));
    run_record_t run;
    assert_ok(run_load(folder, &run, &err));
    assert_string_equal(run.name, strrchr(folder, '/') + 1);
    assert_string_equal(run.started, "2026-03-02T10:15:00Z");
    assert_string_equal(run.finished, "2026-03-02T11:00:00Z");
    assert_int_equal(run.seed, 42);
    assert_int_equal(run.argv.n, 2);
    assert_int_equal(run.n_sweeps, 1);
    assert_string_equal(run.sweeps[0].text, "{\"a\": 1}");
    assert_string_equal(environment_get(&run.environment, "gpu.name"), "NVIDIA H200");
    assert_string_equal(environment_get(&run.environment, "gpu.ecc"), "true");
    assert_string_equal(environment_get(&run.environment, "host.load"), "0.25");
    assert_string_equal(environment_get(&run.environment, "measured.copy_bytes_per_s"),
                        "4300000000000");
    assert_int_equal(run.n_cases, 1);
    const case_result_t *result = run_find(&run, "mlp_infer/cuda/01_study/batch=64");
    assert_non_null(result);
    assert_string_equal(result->spec.device, "cuda");
    assert_true(result_median(result, "kernel") == 3000);
    assert_int_equal(result_phase(result, "kernel")->n_samples, 3);
    assert_null(run_find(&run, "mlp_infer/cuda/01_study/batch=65"));
    run_free(&run);
}

static void test_half_written_last_line_is_dropped(void **state) {
    const char *folder = *state;
    write_header(folder, NULL, "NVIDIA H200", "{}");
    append(folder, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
    append_text(folder, "{\"schema\": 1, \"id\": \"mlp_inf");
    run_record_t run;
    assert_ok(run_load(folder, &run, &err));
    assert_null(run.finished);
    assert_int_equal(run.n_cases, 1);
    assert_int_equal(run.n_dropped_lines, 1);
    run_free(&run);

    /* A resumed run appends after it, and must not glue its line to the half one. */
    append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    assert_ok(run_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 2);
    assert_int_equal(run.n_dropped_lines, 0);
    run_free(&run);
}

static void test_whole_last_line_without_newline_is_kept(void **state) {
    const char *folder = *state;
    write_header(folder, NULL, "NVIDIA H200", "{}");
    append(folder, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
    char *path = fs_join(folder, "cases.jsonl"), *text = read_file(folder, "cases.jsonl");
    assert_ok(fs_write_atomic(path, text, strlen(text) - 1, &err));
    free(text);
    free(path);
    append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    run_record_t run;
    assert_ok(run_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 2);
    run_free(&run);
}

static void test_bad_line_is_an_error_with_its_number(void **state) {
    const char *folder = *state;
    static const char *const BAD[] = {"{\"schema\": 1, \"id\": \n", "[]\n",
                                      "{\"schema\": 1, \"id\": 7}\n",
                                      "{\"id\":\"a\",\"id\":\"b\"}\n"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        write_header(folder, NULL, "NVIDIA H200", "{}");
        append(folder, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
        append_text(folder, BAD[i]);
        append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
        run_record_t run;
        error_t failure = ERROR_INIT;
        assert_int_equal(run_load(folder, &run, &failure), STATUS_USAGE);
        assert_non_null(strstr(failure.text, "cases.jsonl:2: "));
        char *path = fs_join(folder, "cases.jsonl");
        assert_ok(fs_remove_tree(path, &err));
        free(path);
    }
}

static void test_later_lines_win(void **state) {
    const char *folder = *state;
    write_header(folder, NULL, "NVIDIA H200", "{}");
    append(folder, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
    append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    append(folder, make_result("cuda", "01_study", 1, CUDA_PHASES, 5000));
    run_record_t run;
    assert_ok(run_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 2);
    assert_true(result_median(&run.cases[0], "malloc") == 5000);
    assert_true(result_median(&run.cases[1], "malloc") == 1000);
    run_free(&run);
}

static void test_gzip_then_resumed(void **state) {
    const char *folder = *state;
    write_header(folder, "2026-03-02T11:00:00Z", "NVIDIA H200", "{}");
    append(folder, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
    append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    char *plain = fs_join(folder, "cases.jsonl"), *packed = fs_join(folder, "cases.jsonl.gz");
    char *text = read_file(folder, "cases.jsonl");
    assert_ok(fs_write_gzip(packed, text, strlen(text), &err));
    assert_ok(fs_remove_tree(plain, &err));
    run_record_t run;
    assert_ok(run_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 2);
    run_free(&run);
    append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 7000));
    assert_ok(run_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 2);
    assert_true(result_median(&run.cases[1], "malloc") == 7000);
    run_free(&run);
    free(text);
    free(plain);
    free(packed);
}

static void test_unreadable_folders(void **state) {
    const char *folder = *state;
    run_record_t run;
    error_t failure = ERROR_INIT;
    assert_int_not_equal(run_load(folder, &run, &failure), STATUS_OK);
    assert_non_null(strstr(failure.text, "run.json"));

    /* A run that says it is finished has a journal; one that was cut short may have none. */
    write_header(folder, "2026-03-02T11:00:00Z", "NVIDIA H200", "{}");
    error_clear(&failure);
    assert_int_equal(run_load(folder, &run, &failure), STATUS_USAGE);
    assert_non_null(strstr(failure.text, "cases.jsonl"));
    write_header(folder, NULL, "NVIDIA H200", "{}");
    assert_ok(run_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 0);
    run_free(&run);
}

static void test_bad_headers(void **state) {
    const char *folder = *state;
    static const struct {
        const char *json, *message;
    } CASES[] = {
        {"{", "run.json:1: not JSON"},
        {"{\"schema\": 2}", "schema 2, expected 1"},
        {"{\"schema\": 1}", "'seed'"},
        {"{\"schema\": 1, \"seed\": 1}", "'environment'"},
        {"{\"schema\": 1, \"seed\": 1, \"environment\": {}, \"argv\": [1]}", "argv[0]"},
        {"{\"schema\": 1, \"seed\": 1, \"environment\": {}, \"sweeps\": [{}]}", "sweeps[0]"},
        {"{\"schema\": 1, \"seed\": 1, \"environment\": {\"a\": {\"b\": []}}}", "environment.a.b"},
    };
    char *path = fs_join(folder, "run.json");
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        assert_ok(fs_write_atomic(path, CASES[i].json, strlen(CASES[i].json), &err));
        run_record_t run;
        error_t failure = ERROR_INIT;
        assert_int_equal(run_load(folder, &run, &failure), STATUS_USAGE);
        assert_non_null(strstr(failure.text, "run.json"));
        assert_non_null(strstr(failure.text, CASES[i].message));
    }
    free(path);
}

/* Cases out of order, one wrong, one with another copy technique: none of those three may disturb
 * the study's tables. */
static void write_study_run(const char *folder) {
    write_header(folder, NULL, "NVIDIA H200", "{}");
    append(folder, make_result("cuda", "01_study", 64, CUDA_PHASES, 1500000));
    append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 1250.5));
    case_result_t wrong = make_result("cuda", "01_study", 4, CUDA_PHASES, 1000);
    wrong.status = CASE_WRONG;
    wrong.reason = mem_text("relative L2 error 0.3, tolerance 1e-5");
    append(folder, wrong);
    case_result_t pinned = make_result("cuda", "01_study", 8, CUDA_PHASES, 1000);
    case_add_technique(&pinned.spec, "copy", "pinned");
    append(folder, pinned);
    append(folder, make_result("cuda", "02_other", 2, CUDA_PHASES, 1));
    append(folder, make_result("pytorch", "eager", 64, PYTORCH_PHASES, 2000000));
    append(folder, make_result("pytorch", "eager", 1, PYTORCH_PHASES, 1000000));
    append(folder, make_result("pytorch", "graph", 1, PYTORCH_PHASES, 1));
}

static void test_study_csvs_to_the_letter(void **state) {
    const char *folder = *state;
    write_study_run(folder);
    run_record_t run;
    assert_ok(run_load(folder, &run, &err));
    assert_ok(results_write_derived(&run, &err));
    char *cuda = read_file(folder, "mlp_timing_log.csv");
    char *pytorch = read_file(folder, "mlp_timing_log_pytorch.csv");
    assert_string_equal(cuda, "Batch,Malloc,H2D,Kernel,D2H,Free,Total\n"
                              "2,0.001251,0.002501,0.003752,0.005002,0.006253,0.007503\n"
                              "64,1.500000,3.000000,4.500000,6.000000,7.500000,9.000000\n");
    assert_string_equal(pytorch, "Batch,Init,H2D,Forward,D2H,Total\n"
                                 "1,1.000000,2.000000,3.000000,4.000000,5.000000\n"
                                 "64,2.000000,4.000000,6.000000,8.000000,10.000000\n");
    free(cuda);
    free(pytorch);
    char *path = fs_join(folder, "graph.csv");
    assert_ok(results_write_study_csv(&run, path, "pytorch", "graph", &err));
    char *graph = read_file(folder, "graph.csv");
    assert_string_equal(graph, "Batch,Init,H2D,Forward,D2H,Total\n"
                               "1,0.000001,0.000002,0.000003,0.000004,0.000005\n");
    error_t failure = ERROR_INIT;
    assert_int_equal(results_write_study_csv(&run, path, "cpu", "omp", &failure), STATUS_USAGE);
    free(graph);
    free(path);
    run_free(&run);
}

static void test_timings_csv_to_the_letter(void **state) {
    const char *folder = *state;
    static const char *const FORWARD[] = {"forward", NULL};
    write_header(folder, NULL, "NVIDIA H200", "{}");
    case_result_t pinned = make_result("cuda", "03_a,b", 2, FORWARD, 10.25);
    case_add_technique(&pinned.spec, "alloc", "arena");
    case_add_technique(&pinned.spec, "copy", "pinned");
    append(folder, pinned);
    case_result_t wrong = make_result("cpu", "omp", 2, FORWARD, 10);
    wrong.status = CASE_WRONG;
    append(folder, wrong);
    run_record_t run;
    assert_ok(run_load(folder, &run, &err));
    assert_ok(results_write_derived(&run, &err));
    char *text = read_file(folder, "timings.csv");
    assert_string_equal(
        text, "id,workload,engine,device,variant,dtype,params,techniques,status,phase,clock,unit,"
              "n,median,ci95_low,ci95_high\n"
              "\"mlp_infer/cuda/03_a,b/batch=2\",mlp_infer,cuda,cuda,\"03_a,b\",f32,"
              "batch=2;layers=4-5-1,alloc=arena;copy=pinned,ok,forward,host,ns,3,10.25,9.25,"
              "11.25\n"
              "mlp_infer/cpu/omp/batch=2,mlp_infer,cpu,cpu,omp,f32,batch=2;layers=4-5-1,,wrong"
              ",,,,,,,\n");
    free(text);
    /* Neither study table has a row here, so neither file is there. */
    assert_null(read_file(folder, "mlp_timing_log.csv"));
    assert_null(read_file(folder, "mlp_timing_log_pytorch.csv"));
    run_free(&run);
}

static char *make_shard(const char *folder, const char *name, const char *gpu, const char *sweep) {
    char *shard = fs_join(folder, name);
    assert_ok(fs_make_folders(shard, &err));
    write_header(shard, "2026-03-02T11:00:00Z", gpu, sweep);
    return shard;
}

static void test_merge(void **state) {
    const char *folder = *state;
    char *a = make_shard(folder, "a", "NVIDIA H200", "{}");
    char *b = make_shard(folder, "b", "NVIDIA H200", "{}");
    char *out = fs_join(folder, "out");
    append(a, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
    append(a, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    append(b, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    append(b, make_result("cuda", "01_study", 4, CUDA_PHASES, 1000));
    assert_ok(results_merge(out, (const char *[]){a, b}, 2, &err));
    run_record_t run;
    assert_ok(run_load(out, &run, &err));
    assert_int_equal(run.n_cases, 3);
    assert_string_equal(run.finished, "2026-03-02T11:00:00Z");
    assert_string_equal(environment_get(&run.environment, "gpu.name"), "NVIDIA H200");
    char *csv = read_file(out, "mlp_timing_log.csv");
    assert_non_null(csv);
    free(csv);
    run_free(&run);

    error_t failure = ERROR_INIT; /* what is there stays there */
    assert_int_equal(results_merge(out, (const char *[]){a, b}, 2, &failure), STATUS_USAGE);
    assert_non_null(strstr(failure.text, "not empty"));
    free(a);
    free(b);
    free(out);
}

static void test_merge_refuses(void **state) {
    const char *folder = *state;
    char *a = make_shard(folder, "a", "NVIDIA H200", "{}");
    char *gpu = make_shard(folder, "gpu", "NVIDIA H100", "{}");
    char *sweep = make_shard(folder, "sweep", "NVIDIA H200", "{\"b\":2}");
    char *clash = make_shard(folder, "clash", "NVIDIA H200", "{}");
    char *out = fs_join(folder, "out");
    append(a, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
    append(gpu, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    append(sweep, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    append(clash, make_result("cuda", "01_study", 1, CUDA_PHASES, 1001));
    const struct {
        const char *shard, *message;
    } CASES[] = {{gpu, "gpu.name is 'NVIDIA H100'"},
                 {sweep, "same sweeps"},
                 {clash, "mlp_infer/cuda/01_study/batch=1 is in an earlier shard too"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        error_t failure = ERROR_INIT;
        assert_int_equal(results_merge(out, (const char *[]){a, CASES[i].shard}, 2, &failure),
                         STATUS_INCOMPARABLE);
        assert_non_null(strstr(failure.text, CASES[i].message));
        assert_false(fs_exists(out));
    }
    error_t failure = ERROR_INIT;
    assert_int_equal(results_merge(out, NULL, 0, &failure), STATUS_USAGE);
    free(a);
    free(gpu);
    free(sweep);
    free(clash);
    free(out);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(test_half_written_last_line_is_dropped),
        TEST(test_whole_last_line_without_newline_is_kept),
        TEST(test_bad_line_is_an_error_with_its_number),
        TEST(test_later_lines_win),
        TEST(test_gzip_then_resumed),
        TEST(test_unreadable_folders),
        TEST(test_bad_headers),
        TEST(test_study_csvs_to_the_letter),
        TEST(test_timings_csv_to_the_letter),
        TEST(test_merge),
        TEST(test_merge_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
