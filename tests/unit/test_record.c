/* run.json and the journal: what is written is read again, and damage is told with its place. */
#include "checks.h"
#include "gzip_file.h"
#include "results_folder.h"
#include "run/merged/merged.h"
#include "temporary_folder.h"
#include "workloads/common/workload.h"

static const case_result_t *find_pass(const record_t *run, const char *id, unsigned pass) {
    const case_result_t key = {.spec.id = (char *)id, .pass = pass};
    return record_find_same(run, &key);
}

static void test_round_trip(void **state) {
    const char *folder = *state;
    write_header(folder, "2026-03-02T11:00:00Z", "NVIDIA H200", "{\"a\": 1}");
    append(folder, make_result("cuda", "01_study", 64, CUDA_PHASES, 1000));
    AUTO(record_free) record_t run;
    assert_ok(record_load(folder, &run, &err));
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
    const case_result_t *result = record_find(&run, "mlp_infer/cuda/01_study/batch=64");
    assert_non_null(result);
    assert_string_equal(result->spec.device, "cuda");
    assert_true(result_median(result, "kernel") == 3000);
    assert_int_equal(result_phase(result, "kernel")->n_samples, 3);
    assert_null(record_find(&run, "mlp_infer/cuda/01_study/batch=65"));
}

static void test_half_written_last_line_is_dropped(void **state) {
    const char *folder = *state;
    write_header(folder, NULL, "NVIDIA H200", "{}");
    append(folder, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
    append_text(folder, "{\"schema\": 1, \"id\": \"mlp_inf");
    record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_null(run.finished);
    assert_int_equal(run.n_cases, 1);
    assert_int_equal(run.n_dropped_lines, 1);
    record_free(&run);

    /* A resumed run appends after it, and must not glue its line to the half one. */
    append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    assert_ok(record_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 2);
    assert_int_equal(run.n_dropped_lines, 0);
    record_free(&run);
}

static void test_whole_last_line_without_newline_is_kept(void **state) {
    const char *folder = *state;
    write_header(folder, NULL, "NVIDIA H200", "{}");
    append(folder, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
    AUTO_FREE char *path = fs_join(folder, "cases.jsonl"), *text = read_file(folder, "cases.jsonl");
    assert_ok(fs_write_atomic(path, text, strlen(text) - 1, &err));
    append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    AUTO(record_free) record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 2);
}

static void test_bad_line_is_an_error_with_its_number(void **state) {
    const char *folder = *state;
    static const char *const BAD[] = {"{\"schema\": 1, \"id\": \n", "[]\n",
                                      "{\"schema\": 1, \"id\": 7}\n",
                                      "{\"id\":\"a\",\"id\":\"b\"}\n"};
    for (size_t i = 0; i < COUNT_OF(BAD); i++) {
        write_header(folder, NULL, "NVIDIA H200", "{}");
        append(folder, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
        append_text(folder, BAD[i]);
        append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
        record_t run;
        assert_fails_with(record_load(folder, &run, &err), STATUS_USAGE, "cases.jsonl:2: ");
        AUTO_FREE char *path = fs_join(folder, "cases.jsonl");
        assert_ok(fs_remove_tree(path, &err));
    }
}

static void append_pass(const char *folder, int64_t batch, unsigned pass, double first_ns) {
    case_result_t result = make_result("cuda", "01_study", batch, CUDA_PHASES, first_ns);
    result.pass = pass;
    append(folder, result);
}

/* Other cases' lines may be between, and a resumed run may end an earlier pass after a later one. */
static void test_passes_are_joined(void **state) {
    const char *folder = *state;
    write_header(folder, NULL, "NVIDIA H200", "{}");
    append_pass(folder, 1, 2, 2000);
    append_pass(folder, 2, 1, 7000);
    append_pass(folder, 1, 3, 3000);
    append_pass(folder, 1, 1, 1000);
    record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 2);
    const phase_t *phase = result_phase(&run.cases[0], "malloc");
    assert_string_equal(run.cases[0].spec.id, "mlp_infer/cuda/01_study/batch=1");
    assert_int_equal(run.cases[0].pass, 0);
    assert_int_equal(run.cases[0].seed, 42);
    assert_int_equal(phase->n_passes, 3);
    for (size_t i = 0; i < 9; i++) /* in the order of the passes, not of the lines */
        assert_true(phase->samples[i] == 1000 * (double)(i / 3 + 1) + (double)(i % 3) - 1);
    assert_int_equal(run.cases[1].phases[0].n_passes, 1);
    record_free(&run);

    assert_ok(record_load_passes(folder, &run, &err));
    assert_int_equal(run.n_cases, 4);
    const char *id = run.cases[0].spec.id;
    for (unsigned pass = 1; pass <= 3; pass++)
        assert_true(result_median(find_pass(&run, id, pass), "malloc") == 1000 * pass);
    assert_null(find_pass(&run, id, 4));
    record_free(&run);
}

static void test_a_later_line_replaces_its_pass(void **state) {
    const char *folder = *state;
    write_header(folder, NULL, "NVIDIA H200", "{}");
    append_pass(folder, 1, 1, 1000);
    append_pass(folder, 1, 2, 2000);
    append_pass(folder, 1, 1, 5000);
    AUTO(record_free) record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 1);
    const phase_t *phase = result_phase(&run.cases[0], "malloc");
    assert_int_equal(phase->n_passes, 2);
    assert_true(phase->samples[0] == 4999 && phase->samples[3] == 1999);
}

static void test_facts_of_passes(void **state) {
    const char *folder = *state;
    AUTO(record_free) record_t run = {.folder = mem_text(folder)}, again;
    environment_set(record_pass(&run, 2, NULL, NULL), "started", "2026-03-02T10:16:00Z");
    environment_set(record_pass(&run, 1, NULL, NULL), "cores.cuda", "2,3");
    environment_set(record_pass(&run, 2, NULL, NULL), "host", "node7");
    assert_int_equal(run.n_passes, 2);
    assert_ok(record_write_header(&run, &err));
    assert_ok(record_load(folder, &again, &err));
    assert_int_equal(again.n_passes, 2);
    assert_string_equal(environment_get(record_pass(&again, 1, NULL, NULL), "cores.cuda"), "2,3");
    assert_string_equal(environment_get(record_pass(&again, 2, NULL, NULL), "started"),
                        "2026-03-02T10:16:00Z");
    assert_string_equal(environment_get(record_pass(&again, 2, NULL, NULL), "host"), "node7");
    assert_int_equal(again.n_passes, 2);
}

static void test_gzip_then_resumed(void **state) {
    const char *folder = *state;
    write_header(folder, "2026-03-02T11:00:00Z", "NVIDIA H200", "{}");
    append(folder, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
    append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    AUTO_FREE char *plain = fs_join(folder, "cases.jsonl"),
                   *packed = fs_join(folder, "cases.jsonl.gz");
    AUTO_FREE char *text = read_file(folder, "cases.jsonl");
    assert_ok(write_gzip(packed, text, strlen(text), &err));
    assert_ok(fs_remove_tree(plain, &err));
    record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 2);
    record_free(&run);
    append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 7000));
    append_pass(folder, 1, 2, 4000);
    assert_ok(record_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 2);
    assert_true(result_median(&run.cases[1], "malloc") == 7000);
    assert_int_equal(run.cases[0].phases[0].n_passes, 2);
    record_free(&run);
}

static void test_unreadable_folders(void **state) {
    const char *folder = *state;
    AUTO(record_free) record_t run;
    assert_fails_with(record_load(folder, &run, &err), STATUS_USAGE, "run.json");
    /* A run that says it is finished has a journal; one that was cut short may have none. */
    write_header(folder, "2026-03-02T11:00:00Z", "NVIDIA H200", "{}");
    assert_fails_with(record_load(folder, &run, &err), STATUS_USAGE, "cases.jsonl");
    write_header(folder, NULL, "NVIDIA H200", "{}");
    assert_ok(record_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 0);
}

static void test_bad_headers(void **state) {
    const char *folder = *state;
    static const struct {
        const char *json, *message;
    } CASES[] = {
        {"{", "run.json:1: not JSON"},
        {"{\"schema\": 3}", "schema 3, expected 1 to 2"},
        {"{\"schema\": 0}", "schema 0, expected 1 to 2"},
        {"{\"schema\": 1}", "'seed'"},
        {"{\"schema\": 1, \"seed\": 1}", "'environment'"},
        {"{\"schema\": 1, \"seed\": 1, \"environment\": {}, \"argv\": [1]}", "argv[0]"},
        {"{\"schema\": 1, \"seed\": 1, \"environment\": {}, \"sweeps\": [{}]}", "sweeps[0]"},
        {"{\"schema\": 2, \"seed\": 1, \"environment\": {}, \"passes\": [{}]}", "passes[0]"},
        {"{\"schema\": 1, \"seed\": 1, \"environment\": {\"a\": {\"b\": []}}}", "environment.a.b"},
    };
    AUTO_FREE char *path = fs_join(folder, "run.json");
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        assert_ok(fs_write_atomic(path, CASES[i].json, strlen(CASES[i].json), &err));
        record_t run;
        assert_fails_with(record_load(folder, &run, &err), STATUS_USAGE, "run.json");
        assert_fails_with(record_load(folder, &run, &err), STATUS_USAGE, CASES[i].message);
    }
}

/* ---- Shards become one run, or are refused. */

static char *make_shard(const char *folder, const char *name, const char *gpu, const char *sweep) {
    char *shard = fs_join(folder, name);
    assert_ok(fs_make_folders(shard, &err));
    write_header(shard, "2026-03-02T11:00:00Z", gpu, sweep);
    return shard;
}

static void add_worker(const char *folder, const char *version) {
    AUTO(record_free) record_t run;
    assert_ok(record_load(folder, &run, &err));
    environment_set(&run.environment, "workers.jax-cuda.jax", version);
    environment_set(&run.environment, "versions.pytorch", "2.11.0");
    assert_ok(record_write_header(&run, &err));
}

static void test_merge(void **state) {
    const char *folder = *state;
    AUTO_FREE char *a = make_shard(folder, "a", "NVIDIA H200", "{}");
    AUTO_FREE char *b = make_shard(folder, "b", "NVIDIA H200", "{}");
    AUTO_FREE char *out = fs_join(folder, "out");
    append(a, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
    append(a, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    append(b, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    append(b, make_result("cuda", "01_study", 4, CUDA_PHASES, 1000));
    case_result_t second = make_result("cuda", "01_study", 2, CUDA_PHASES, 3000);
    second.pass = 2; /* a shard may also have other passes of the same cases */
    append(b, second);
    add_worker(b, "0.11.2"); /* only this shard had JAX */
    assert_ok(merge_runs(".", out, (const char *[]){a, b}, 2, &err));
    AUTO(record_free) record_t run;
    assert_ok(record_load(out, &run, &err));
    assert_int_equal(run.n_cases, 3);
    const char *both = "mlp_infer/cuda/01_study/batch=2";
    assert_int_equal(record_find(&run, both)->phases[0].n_passes, 2);
    assert_string_equal(run.finished, "2026-03-02T11:00:00Z");
    assert_string_equal(environment_get(&run.environment, "gpu.name"), "NVIDIA H200");
    assert_string_equal(environment_get(&run.environment, "workers.jax-cuda.jax"), "0.11.2");
    assert_string_equal(environment_get(&run.environment, "versions.pytorch"), "2.11.0");
    AUTO_FREE char *csv = read_file(out, "mlp_timing_log.csv");
    assert_non_null(csv);

    assert_fails_with(merge_runs(".", out, (const char *[]){a, b}, 2, &err), STATUS_USAGE,
                      "not empty"); /* what is there stays there */
}

static void test_merge_refuses(void **state) {
    const char *folder = *state;
    AUTO_FREE char *a = make_shard(folder, "a", "NVIDIA H200", "{}");
    AUTO_FREE char *gpu = make_shard(folder, "gpu", "NVIDIA H100", "{}");
    AUTO_FREE char *sweep = make_shard(folder, "sweep", "NVIDIA H200", "{\"b\":2}");
    AUTO_FREE char *clash = make_shard(folder, "clash", "NVIDIA H200", "{}");
    AUTO_FREE char *old = make_shard(folder, "old", "NVIDIA H200", "{}");
    AUTO_FREE char *old_header = fs_join(old, "run.json");
    static const char SCHEMA_1[] = "{\"schema\": 1, \"seed\": 42, \"environment\": {}}";
    assert_ok(fs_write_atomic(old_header, SCHEMA_1, strlen(SCHEMA_1), &err));
    AUTO_FREE char *out = fs_join(folder, "out");
    append(a, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
    append(gpu, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    append(sweep, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    append(clash, make_result("cuda", "01_study", 1, CUDA_PHASES, 1001));
    const struct {
        const char *shard, *message;
    } CASES[] = {{gpu, "gpu.name is 'NVIDIA H100'"},
                 {sweep, "same sweeps"},
                 {old, "its results have schema 1, but 2 in"},
                 {clash, "mlp_infer/cuda/01_study/batch=1 is in an earlier shard too"}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        assert_fails_with(merge_runs(".", out, (const char *[]){a, CASES[i].shard}, 2, &err),
                          STATUS_INCOMPARABLE, CASES[i].message);
        assert_false(fs_exists(out));
    }
    assert_fails_with(merge_runs(".", out, NULL, 0, &err), STATUS_USAGE, "no runs given");
}

/* ---- The tables that are made of a run's cases. */

static const char *const PYTORCH_PHASES[] = {"init", "h2d", "forward", "d2h", "total", NULL};

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
    set_text(&pinned.spec.id, "mlp_infer/cuda/01_study/batch=8/copy=pinned");
    append(folder, pinned);
    append(folder, make_result("cuda", "02_other", 2, CUDA_PHASES, 1));
    append(folder, make_result("pytorch", "eager", 64, PYTORCH_PHASES, 2000000));
    append(folder, make_result("pytorch", "eager", 1, PYTORCH_PHASES, 1000000));
    append(folder, make_result("pytorch", "graph", 1, PYTORCH_PHASES, 1));
}

static void test_study_csvs_to_the_letter(void **state) {
    const char *folder = *state;
    write_study_run(folder);
    AUTO(record_free) record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_ok(results_write_derived(&run, workload_study(NULL), &err));
    AUTO_FREE char *cuda = read_file(folder, "mlp_timing_log.csv");
    AUTO_FREE char *pytorch = read_file(folder, "mlp_timing_log_pytorch.csv");
    assert_string_equal(cuda, "Batch,Malloc,H2D,Kernel,D2H,Free,Total\n"
                              "2,0.001251,0.002501,0.003752,0.005002,0.006253,0.007503\n"
                              "64,1.500000,3.000000,4.500000,6.000000,7.500000,9.000000\n");
    assert_string_equal(pytorch, "Batch,Init,H2D,Forward,D2H,Total\n"
                                 "1,1.000000,2.000000,3.000000,4.000000,5.000000\n"
                                 "64,2.000000,4.000000,6.000000,8.000000,10.000000\n");
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
    AUTO(record_free) record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_ok(results_write_derived(&run, workload_study(NULL), &err));
    AUTO_FREE char *text = read_file(folder, "timings.csv");
    assert_string_equal(
        text, "id,workload,engine,device,variant,dtype,params,techniques,status,phase,clock,unit,"
              "n,median,ci95_low,ci95_high,passes,bimodal_low,bimodal_high,bimodal_share_high\n"
              "\"mlp_infer/cuda/03_a,b/batch=2\",mlp_infer,cuda,cuda,\"03_a,b\",f32,"
              "batch=2;layers=4-5-1,alloc=arena;copy=pinned,ok,forward,host,ns,3,10.25,,,1,,,\n"
              "mlp_infer/cpu/omp/batch=2,mlp_infer,cpu,cpu,omp,f32,batch=2;layers=4-5-1,,wrong"
              ",,,,,,,,,,,\n");
    /* Neither study table has a row here, so neither file is there. */
    assert_null(read_file(folder, "mlp_timing_log.csv"));
    assert_null(read_file(folder, "mlp_timing_log_pytorch.csv"));
}

/* Five passes of eight rounds, a quarter of them at another value. */
static void test_timings_csv_of_passes(void **state) {
    const char *folder = *state;
    static const char *const NOTHING[] = {NULL};
    write_header(folder, NULL, "NVIDIA H200", "{}");
    for (unsigned pass = 1; pass <= 5; pass++) {
        case_result_t result = make_result("cpu", "omp", 2, NOTHING, 0);
        phase_t *phase = result_add_phase(&result, "forward", CLOCK_HOST);
        for (int r = 0; r < 8; r++)
            phase_add_round(phase, (double[]){(r < 6 ? 1000 : 2000) + 0.01 * (r + 8 * pass)}, 1);
        phase_summarise(phase);
        result.pass = pass;
        append(folder, result);
    }
    AUTO(record_free) record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_ok(results_write_derived(&run, workload_study(NULL), &err));
    AUTO_FREE char *text = read_file(folder, "timings.csv");
    double low, high, two_low, two_high, share;
    int passes, n;
    assert_int_equal(sscanf(text,
                            "%*s mlp_infer/cpu/omp/batch=2,mlp_infer,cpu,cpu,omp,f32,batch=2;"
                            "layers=4-5-1,,ok,forward,host,ns,%d,%*f,%lf,%lf,%d,%lf,%lf,%lf",
                            &n, &low, &high, &passes, &two_low, &two_high, &share),
                     7);
    assert_int_equal(n, 40);
    assert_int_equal(passes, 5);
    assert_true(low < 1000 && high > 1000);
    assert_true(two_low > 999 && two_low < 1001 && two_high > 1999 && two_high < 2001 &&
                share == 0.25);
}

#define SET_UP make_folder
#define TEAR_DOWN remove_folder
#include "run_tests.h"
