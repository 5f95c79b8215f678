/* Which cases get a row of the study's tables: a made-up number is worse than none. And rows of
 * timings.csv that names would break. */
#include "results_folder.h"

#include "workloads/common/workload.h"

static const char *const NO_H2D[] = {"malloc", "kernel", "d2h", "free", "total", NULL};
static const char *const NO_MALLOC[] = {"h2d", "kernel", "d2h", "free", "total", NULL};
static const char *const NO_COPIES[] = {"init", "forward", "total", NULL};

/* A GPU's copy that was not timed took some time; a CPU has nothing to copy to. */
static void test_only_a_cpu_copies_for_nothing(void **state) {
    const char *folder = *state;
    write_header(folder, NULL, "NVIDIA H200", "{}");
    append(folder, make_result("cuda", "01_study", 1, NO_H2D, 1000));
    append(folder, make_result("cuda", "01_study", 2, CUDA_PHASES, 1000));
    append(folder, make_result("cuda", "01_study", 4, NO_MALLOC, 1000));
    case_result_t host = make_result("pytorch", "eager", 8, NO_COPIES, 1000);
    free(host.spec.device);
    host.spec.device = mem_text("cpu");
    free(host.spec.id);
    host.spec.id = mem_text("mlp_infer/pytorch-cpu/eager/batch=8");
    append(folder, host);
    record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_ok(results_write_derived(&run, workload_study(), &err));
    char *cuda = read_file(folder, "mlp_timing_log.csv");
    char *pytorch = read_file(folder, "mlp_timing_log_pytorch.csv");
    assert_string_equal(cuda, "Batch,Malloc,H2D,Kernel,D2H,Free,Total\n"
                              "2,0.001000,0.002000,0.003000,0.004000,0.005000,0.006000\n");
    assert_string_equal(pytorch, "Batch,Init,H2D,Forward,D2H,Total\n"
                                 "8,0.001000,0.000000,0.002000,0.000000,0.003000\n");
    free(cuda);
    free(pytorch);
    record_free(&run);
}

static void test_names_do_not_break_a_row(void **state) {
    const char *folder = *state;
    static const char *const VARIANTS[] = {"a\rb", "a\nb", "a,b", "a\"b"};
    static const char *const FIELDS[] = {",\"a\rb\",", ",\"a\nb\",", ",\"a,b\",", ",\"a\"\"b\","};
    char *path = fs_join(folder, "timings.csv");
    for (size_t i = 0; i < sizeof VARIANTS / sizeof *VARIANTS; i++) {
        case_result_t result = make_result("cpu", VARIANTS[i], 1, NO_COPIES, 1000);
        const record_t run = {.cases = &result, .n_cases = 1};
        assert_ok(results_write_timings_csv(&run, path, &err));
        char *text = read_file(folder, "timings.csv");
        assert_non_null(strstr(text, FIELDS[i]));
        free(text);
        result_free(&result);
    }
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_only_a_cpu_copies_for_nothing, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_names_do_not_break_a_row, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
