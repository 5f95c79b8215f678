/* The tables that are made of a run's cases. */
#include "results_folder.h"

#include "workloads/common/workload.h"

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
    append(folder, pinned);
    append(folder, make_result("cuda", "02_other", 2, CUDA_PHASES, 1));
    append(folder, make_result("pytorch", "eager", 64, PYTORCH_PHASES, 2000000));
    append(folder, make_result("pytorch", "eager", 1, PYTORCH_PHASES, 1000000));
    append(folder, make_result("pytorch", "graph", 1, PYTORCH_PHASES, 1));
}

static void test_study_csvs_to_the_letter(void **state) {
    const char *folder = *state;
    write_study_run(folder);
    record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_ok(results_write_derived(&run, workload_study(), &err));
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
    record_free(&run);
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
    record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_ok(results_write_derived(&run, workload_study(), &err));
    char *text = read_file(folder, "timings.csv");
    assert_string_equal(
        text, "id,workload,engine,device,variant,dtype,params,techniques,status,phase,clock,unit,"
              "n,median,ci95_low,ci95_high,passes,bimodal_low,bimodal_high,bimodal_share_high\n"
              "\"mlp_infer/cuda/03_a,b/batch=2\",mlp_infer,cuda,cuda,\"03_a,b\",f32,"
              "batch=2;layers=4-5-1,alloc=arena;copy=pinned,ok,forward,host,ns,3,10.25,,,1,,,\n"
              "mlp_infer/cpu/omp/batch=2,mlp_infer,cpu,cpu,omp,f32,batch=2;layers=4-5-1,,wrong"
              ",,,,,,,,,,,\n");
    free(text);
    /* Neither study table has a row here, so neither file is there. */
    assert_null(read_file(folder, "mlp_timing_log.csv"));
    assert_null(read_file(folder, "mlp_timing_log_pytorch.csv"));
    record_free(&run);
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
    record_t run;
    assert_ok(record_load(folder, &run, &err));
    assert_ok(results_write_derived(&run, workload_study(), &err));
    char *text = read_file(folder, "timings.csv");
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
    free(text);
    record_free(&run);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_study_csvs_to_the_letter),
        TEST(test_timings_csv_to_the_letter),
        TEST(test_timings_csv_of_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
