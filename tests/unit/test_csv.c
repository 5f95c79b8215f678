/* The study's logs, and tables of a run. What tests/fixtures/invalid_csv.txt holds
 * must be refused. */
#include "checks.h"
#include "made_case.h"
#include "refusals.h"
#include "results/study_csv.h"
#include "results_folder.h"
#include "temporary_folder.h"
#include "workloads/common/workload.h"

#include <stdio.h>

#define FIXTURES "tests/fixtures/plot/"

static status_t load_invalid(const char *path, error_t *err) {
    study_log_t log;
    return study_csv_load(workload_study(NULL), path, &log, err);
}

static void invalid_files_are_refused_with_file_line_and_column(void **state) {
    check_refusals("tests/fixtures/invalid_csv.txt", load_invalid);
}

static void a_missing_file_is_named(void **state) {
    study_log_t log;
    assert_fails_with(study_csv_load(workload_study(NULL), FIXTURES "absent.csv", &log, &err),
                      STATUS_USAGE, "absent.csv");
}

static void load(const char *path, study_log_t *log) {
    assert_ok(study_csv_load(workload_study(NULL), path, log, &err));
}

/* Rows stand in any order; three rows of batch 4, one of them far off, give their median. */
static void study_log_is_sorted_and_takes_medians(void **state) {
    AUTO(study_log_free) study_log_t log;
    load(FIXTURES "study_cuda.csv", &log);
    assert_int_equal(log.side, 0);
    static const int64_t BATCHES[] = {1, 2, 4, 8, 16, 32, 64};
    assert_int_equal(log.n_cases, 7);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(case_param_int(&log.cases[i].spec, "batch", 0), BATCHES[i]);
    const case_result_t *four = &log.cases[2];
    assert_string_equal(four->spec.id, "mlp_infer/cuda/01_study/batch=4");
    assert_int_equal(result_phase(four, "total")->summary.n, 3);
    assert_near(result_median(four, "total"), 0.28e6, 1e-6);
    assert_near(result_median(four, "malloc"), 0.13e6, 1e-6);
    assert_near(result_median(four, "kernel"), 0.0062e6, 1e-6);
    assert_near(result_median(four, "residual"), 0.0118e6, 1e-6);
    assert_true(isnan(result_phase(four, "total")->summary.ci95[0]));
    assert_near(result_median(&log.cases[1], "total"), 0.274e6, 1e-6);
}

static void study_log_is_recognised_by_its_header(void **state) {
    study_log_t log;
    load(FIXTURES "study_pytorch.csv", &log);
    assert_int_equal(log.side, 1);
    assert_string_equal(log.cases[0].spec.engine, "pytorch");
    assert_string_equal(log.cases[0].spec.device, "cuda");
    assert_near(result_median(&log.cases[6], "forward"), 0.086e6, 1e-6);
    study_log_free(&log);
    load(FIXTURES "study_pytorch_bom.csv", &log);
    assert_int_equal(log.side, 1);
    assert_int_equal(log.n_cases, 1);
    assert_near(result_median(&log.cases[0], "total"), 0.422e6, 1e-6);
    study_log_free(&log);
}

/* ---- Which cases get a row of the study's tables: a made-up number is worse than none. And rows
 * of timings.csv that names would break. */

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
    set_text(&host.spec.device, "cpu");
    set_text(&host.spec.id, "mlp_infer/pytorch-cpu/eager/batch=8");
    append(folder, host);
    AUTO(record_free) record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_ok(results_write_derived(&run, workload_study(NULL), &err));
    AUTO_FREE char *cuda = read_file(folder, "mlp_timing_log.csv");
    AUTO_FREE char *pytorch = read_file(folder, "mlp_timing_log_pytorch.csv");
    assert_string_equal(cuda, "Batch,Malloc,H2D,Kernel,D2H,Free,Total\n"
                              "2,0.001000,0.002000,0.003000,0.004000,0.005000,0.006000\n");
    assert_string_equal(pytorch, "Batch,Init,H2D,Forward,D2H,Total\n"
                                 "8,0.001000,0.000000,0.002000,0.000000,0.003000\n");
}

static void test_names_do_not_break_a_row(void **state) {
    const char *folder = *state;
    static const char *const VARIANTS[] = {"a\rb", "a\nb", "a,b", "a\"b"};
    static const char *const FIELDS[] = {",\"a\rb\",", ",\"a\nb\",", ",\"a,b\",", ",\"a\"\"b\","};
    AUTO_FREE char *path = fs_join(folder, "timings.csv");
    for (size_t i = 0; i < COUNT_OF(VARIANTS); i++) {
        AUTO(result_free)
        case_result_t result = make_result("cpu", VARIANTS[i], 1, NO_COPIES, 1000);
        const record_t run = {.cases = &result, .n_cases = 1};
        assert_ok(results_write_timings_csv(&run, path, &err));
        AUTO_FREE char *text = read_file(folder, "timings.csv");
        assert_has(text, FIELDS[i]);
    }
}

#define SET_UP make_folder
#define TEAR_DOWN remove_folder
#include "run_tests.h"
