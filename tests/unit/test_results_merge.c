/* Shards become one run, or are refused. */
#include "checks.h"
#include "results_folder.h"
#include "run/merged/merged.h"
#include "temporary_folder.h"

static char *make_shard(const char *folder, const char *name, const char *gpu, const char *sweep) {
    char *shard = fs_join(folder, name);
    assert_ok(fs_make_folders(shard, &err));
    write_header(shard, "2026-03-02T11:00:00Z", gpu, sweep);
    return shard;
}

static void add_worker(const char *folder, const char *version) {
    record_t run;
    assert_ok(record_load(folder, &run, &err));
    environment_set(&run.environment, "workers.jax-cuda.jax", version);
    environment_set(&run.environment, "versions.pytorch", "2.11.0");
    assert_ok(record_write_header(&run, &err));
    record_free(&run);
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
    case_result_t second = make_result("cuda", "01_study", 2, CUDA_PHASES, 3000);
    second.pass = 2; /* a shard may also have other passes of the same cases */
    append(b, second);
    add_worker(b, "0.11.2"); /* only this shard had JAX */
    assert_ok(merge_runs(".", out, (const char *[]){a, b}, 2, &err));
    record_t run;
    assert_ok(record_load(out, &run, &err));
    assert_int_equal(run.n_cases, 3);
    const char *both = "mlp_infer/cuda/01_study/batch=2";
    assert_int_equal(record_find(&run, both)->phases[0].n_passes, 2);
    assert_string_equal(run.finished, "2026-03-02T11:00:00Z");
    assert_string_equal(environment_get(&run.environment, "gpu.name"), "NVIDIA H200");
    assert_string_equal(environment_get(&run.environment, "workers.jax-cuda.jax"), "0.11.2");
    assert_string_equal(environment_get(&run.environment, "versions.pytorch"), "2.11.0");
    char *csv = read_file(out, "mlp_timing_log.csv");
    assert_non_null(csv);
    free(csv);
    record_free(&run);

    error_t failure = ERROR_INIT; /* what is there stays there */
    assert_int_equal(merge_runs(".", out, (const char *[]){a, b}, 2, &failure), STATUS_USAGE);
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
    char *old = make_shard(folder, "old", "NVIDIA H200", "{}");
    char *old_header = fs_join(old, "run.json");
    static const char SCHEMA_1[] = "{\"schema\": 1, \"seed\": 42, \"environment\": {}}";
    assert_ok(fs_write_atomic(old_header, SCHEMA_1, strlen(SCHEMA_1), &err));
    char *out = fs_join(folder, "out");
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
        error_t failure = ERROR_INIT;
        assert_int_equal(merge_runs(".", out, (const char *[]){a, CASES[i].shard}, 2, &failure),
                         STATUS_INCOMPARABLE);
        assert_non_null(strstr(failure.text, CASES[i].message));
        assert_false(fs_exists(out));
    }
    error_t failure = ERROR_INIT;
    assert_int_equal(merge_runs(".", out, NULL, 0, &failure), STATUS_USAGE);
    free(a);
    free(gpu);
    free(sweep);
    free(clash);
    free(old);
    free(old_header);
    free(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_merge),
        IN_FOLDER(test_merge_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
