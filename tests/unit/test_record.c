/* run.json and the journal: what is written is read again, and damage is told with its place. */
#include "checks.h"
#include "gzip_file.h"
#include "results_folder.h"
#include "temporary_folder.h"

static const case_result_t *find_pass(const record_t *run, const char *id, unsigned pass) {
    const case_result_t key = {.spec.id = (char *)id, .pass = pass};
    return record_find_same(run, &key);
}

static void test_round_trip(void **state) {
    const char *folder = *state;
    write_header(folder, "2026-03-02T11:00:00Z", "NVIDIA H200", "{\"a\": 1}");
    append(folder, make_result("cuda", "01_study", 64, CUDA_PHASES, 1000));
    record_t run;
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
    record_free(&run);
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
    char *path = fs_join(folder, "cases.jsonl"), *text = read_file(folder, "cases.jsonl");
    assert_ok(fs_write_atomic(path, text, strlen(text) - 1, &err));
    free(text);
    free(path);
    append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 2);
    record_free(&run);
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
        error_t failure = ERROR_INIT;
        assert_int_equal(record_load(folder, &run, &failure), STATUS_USAGE);
        assert_non_null(strstr(failure.text, "cases.jsonl:2: "));
        char *path = fs_join(folder, "cases.jsonl");
        assert_ok(fs_remove_tree(path, &err));
        free(path);
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
    record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 1);
    const phase_t *phase = result_phase(&run.cases[0], "malloc");
    assert_int_equal(phase->n_passes, 2);
    assert_true(phase->samples[0] == 4999 && phase->samples[3] == 1999);
    record_free(&run);
}

static void test_facts_of_passes(void **state) {
    const char *folder = *state;
    record_t run = {.folder = mem_text(folder)}, again;
    environment_set(record_pass(&run, 2, NULL, NULL), "started", "2026-03-02T10:16:00Z");
    environment_set(record_pass(&run, 1, NULL, NULL), "cores.cuda", "2,3");
    environment_set(record_pass(&run, 2, NULL, NULL), "host", "node7");
    assert_int_equal(run.n_passes, 2);
    assert_ok(record_write_header(&run, &err));
    record_free(&run);
    assert_ok(record_load(folder, &again, &err));
    assert_int_equal(again.n_passes, 2);
    assert_string_equal(environment_get(record_pass(&again, 1, NULL, NULL), "cores.cuda"), "2,3");
    assert_string_equal(environment_get(record_pass(&again, 2, NULL, NULL), "started"),
                        "2026-03-02T10:16:00Z");
    assert_string_equal(environment_get(record_pass(&again, 2, NULL, NULL), "host"), "node7");
    assert_int_equal(again.n_passes, 2);
    record_free(&again);
}

static void test_later_lines_win(void **state) {
    const char *folder = *state;
    write_header(folder, NULL, "NVIDIA H200", "{}");
    append(folder, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
    append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    append(folder, make_result("cuda", "01_study", 1, CUDA_PHASES, 5000));
    record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 2);
    assert_true(result_median(&run.cases[0], "malloc") == 5000);
    assert_true(result_median(&run.cases[1], "malloc") == 1000);
    record_free(&run);
}

static void test_gzip_then_resumed(void **state) {
    const char *folder = *state;
    write_header(folder, "2026-03-02T11:00:00Z", "NVIDIA H200", "{}");
    append(folder, make_result("cuda", "01_study", 1, CUDA_PHASES, 1000));
    append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    char *plain = fs_join(folder, "cases.jsonl"), *packed = fs_join(folder, "cases.jsonl.gz");
    char *text = read_file(folder, "cases.jsonl");
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
    free(text);
    free(plain);
    free(packed);
}

static void test_unreadable_folders(void **state) {
    const char *folder = *state;
    record_t run;
    error_t failure = ERROR_INIT;
    assert_int_not_equal(record_load(folder, &run, &failure), STATUS_OK);
    assert_non_null(strstr(failure.text, "run.json"));

    /* A run that says it is finished has a journal; one that was cut short may have none. */
    write_header(folder, "2026-03-02T11:00:00Z", "NVIDIA H200", "{}");
    error_clear(&failure);
    assert_int_equal(record_load(folder, &run, &failure), STATUS_USAGE);
    assert_non_null(strstr(failure.text, "cases.jsonl"));
    write_header(folder, NULL, "NVIDIA H200", "{}");
    assert_ok(record_load(folder, &run, &err));
    assert_int_equal(run.n_cases, 0);
    record_free(&run);
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
    char *path = fs_join(folder, "run.json");
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        assert_ok(fs_write_atomic(path, CASES[i].json, strlen(CASES[i].json), &err));
        record_t run;
        error_t failure = ERROR_INIT;
        assert_int_equal(record_load(folder, &run, &failure), STATUS_USAGE);
        assert_non_null(strstr(failure.text, "run.json"));
        assert_non_null(strstr(failure.text, CASES[i].message));
    }
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_round_trip),
        IN_FOLDER(test_half_written_last_line_is_dropped),
        IN_FOLDER(test_whole_last_line_without_newline_is_kept),
        IN_FOLDER(test_bad_line_is_an_error_with_its_number),
        IN_FOLDER(test_passes_are_joined),
        IN_FOLDER(test_a_later_line_replaces_its_pass),
        IN_FOLDER(test_facts_of_passes),
        IN_FOLDER(test_later_lines_win),
        IN_FOLDER(test_gzip_then_resumed),
        IN_FOLDER(test_unreadable_folders),
        IN_FOLDER(test_bad_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
