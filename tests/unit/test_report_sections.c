/* Sections of the report, printed by themselves from runs whose truth is planted. */
#include "planted_run.h"
#include "printed_section.h"
#include "report/inference/inference.h"
#include "report/report.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void all_findings(const report_t *report) {
    comparison_set_list_t sets = comparison_sets_of(report->run, "mlp_infer");
    inference_findings(report, &sets);
    comparison_set_list_free(&sets);
}

static void all_tables(const report_t *report) {
    comparison_set_list_t sets = comparison_sets_of(report->run, "mlp_infer");
    inference_tables(report, &sets);
    comparison_set_list_free(&sets);
}

/* A case of the device's calibration with one phase of 160 equal samples. */
static void plant_gauge(record_t *run, const char *workload, const char *variant, int64_t bytes,
                        const char *phase_name, double median_ns) {
    case_t spec = {.id = mem_format("%s/cuda/%s", workload, variant),
                   .workload = mem_text(workload),
                   .engine = mem_text("cuda"),
                   .device = mem_text("cuda"),
                   .variant = mem_text(variant),
                   .dtype = mem_text("f32")};
    case_add_param(&spec, "bytes", &(value_t){.kind = VALUE_INT, .integer = bytes});
    case_result_t result;
    result_init(&result, &spec);
    case_free(&spec);
    double samples[160];
    for (size_t i = 0; i < 160; i++)
        samples[i] = median_ns;
    phase_t *phase = result_add_phase(&result, phase_name, CLOCK_DEVICE);
    phase_add_round(phase, samples, 160);
    phase_summarise(phase);
    mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
    run->cases[run->n_cases++] = result;
}

static void device_is_told_by_rates_and_floors(void **state) {
    (void)state;
    record_t run = {.name = mem_text("planted")};
    environment_set_number(&run.environment, "gpu.l2_bytes", 50e6);
    plant_gauge(&run, "device", "copy", 1000000000, "kernel", 500e3);
    plant_gauge(&run, "device", "01_read", 16000000, "kernel", 2e3);
    plant_gauge(&run, "device", "01_read", 1000000000, "kernel", 200e3);
    plant_gauge(&run, "device", "02_barrier", 1, "barrier", 980);
    plant_gauge(&run, "null", "01_empty", 0, "event_pair", 1250);
    char *text = printed(section_device, &run);
    assert_has(text, "## The device, measured in this run");
    assert_has(text, "| DRAM, copying 1.00 GB       | 4.00 TB/s |"); /* read and written */
    assert_has(text, "| L2, reading 16.0 MB         | 8.00 TB/s |"); /* read only */
    assert_has(text, "| DRAM, reading 1.00 GB       | 5.00 TB/s |"); /* of an older run */
    assert_has(text, "not used: limits come from the copy rate");
    assert_has_not(text, "not used: over 25 %");
    assert_has(text, "| Barrier of the whole grid   |    980 ns |");
    assert_null(strstr(text, "DRAM, reading 16.0 MB"));
    assert_null(strstr(text, "L2, reading 1.00 GB"));
    assert_has(text, "|   1.25 µs |     160 |");
    free(text);
    plant_gauge(&run, "device", "01_read", 1073741824, "kernel", 170e3);
    text = printed(section_device, &run);
    assert_has(text, "6.32 TB/s");
    assert_has(text, "| not used: over 25 % above the copy rate, so not the DRAM rate ");
    free(text);
    text = printed(section_cases, &run); /* they are no cases of interest */
    assert_has(text, "No workload case finished in this run.");
    free(text);
    record_free(&run);
    run = plant_ratios((double[]){2}, 1);
    text = printed(section_device, &run);
    assert_string_equal(text, "");
    free(text);
    record_free(&run);
}

/* A rate for each dtype, and which of them is the limit. */
static void device_tells_rates_of_products(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){2}, 1);
    const double flops = 2.0 * 8192 * 8192 * 8192;
    plant_gauge(&run, "device", "matmul", 8192LL * 8192 * 4, "f32", flops / 50e12 * 1e9);
    plant_gauge(&run, "device", "matmul", 1024 * 1024 * 4, "tf32", 1e6);
    char *text = printed(section_device, &run);
    assert_has(text, "| cuBLASLt, f32, 8192 × 8192  | 50.0 TFLOP/s |");
    assert_has(text, "| the *matmul* limit of this dtype");
    assert_has(text, "| not used: too small for the rate of a chip");
    free(text);
    case_result_t *ours = &run.cases[0];
    ours->limit.phase = mem_text("host_to_host");
    const double own = workload_find("mlp_infer")->cost(&ours->spec).flops /
                       result_median(ours, "host_to_host") * 1e9;
    plant_gauge(&run, "device", "matmul", 8192LL * 8192 * 4, "f32", 2 * flops / own * 1e9);
    text = printed(section_device, &run);
    assert_has(text, "| not used: a CUDA case of this run reached ");
    free(text);
    record_free(&run);
}

static void environment_says_each_thing_once(void **state) {
    (void)state;
    record_t run = {.name = mem_text("planted")};
    environment_t *env = &run.environment;
    environment_set(env, "versions.pytorch", "2.11.0");
    environment_set(env, "gpu.kind", "cuda");
    environment_set(env, "gpu.name", "Some GPU");
    environment_set_number(env, "gpu.memory_bytes", 150e9);
    environment_set_number(env, "gpu.clock_max_mhz", 1980);
    environment_set_number(env, "gpu.clock_mhz", 1980);
    environment_set_flag(env, "gpu.ecc", true);
    environment_set_flag(env, "git.dirty", false);
    environment_set(env, "workers.pytorch-cuda.torch", "2.11.0");
    environment_set(env, "workers.pytorch-cuda.numpy", "2.5.2");
    environment_set(env, "workers.pytorch-cuda.switches", "cudnn.allow_tf32 = False");
    environment_set(env, "workers.pytorch-cpu.numpy", "2.5.2");
    environment_set(env, "host.something_new", "a | b");
    char *text = printed(section_environment, &run);
    assert_has(text, "Some GPU, 150 GB of memory, SM clock up to 1980 MHz |");
    assert_has(text, "| ECC on ");
    assert_has(text, "| uncommitted changes: no ");
    assert_has(text, "| Worker pytorch-cuda | numpy 2.5.2 ");
    assert_has(text, "something new a \\| b");
    assert_has_not(text, "pytorch-cpu");
    assert_has_not(text, "torch 2.11.0");
    assert_has_not(text, "kind");
    free(text);
    record_free(&run);
}

static void side_without_times_is_one_sentence(void **state) {
    (void)state;
    record_t run = {.name = mem_text("planted")};
    plant(&run, (planted_t){"cuda", "cuda", "01_study", 1, 1, CASE_SKIPPED, "no GPU"}, 1);
    plant(&run, (planted_t){"pytorch", "cuda", "eager", 1, 1, CASE_FAILED, "no GPU"}, 1);
    plant(&run, (planted_t){"cpu", "cpu", "omp", 1, 500, CASE_OK, NULL}, 2);
    plant(&run, (planted_t){"pytorch", "cpu", "eager", 1, 1000, CASE_OK, NULL}, 3);
    char *text = printed(all_findings, &run);
    assert_has(text, "Nothing was measured on the GPU: none of the 2 cases has a valid time.");
    assert_has(text, "C is **2.0");
    free(text);
    text = printed(all_tables, &run);
    assert_has_not(text, "on the GPU");
    free(text);
    text = report_workload_tables(&run, NULL);
    assert_has(text, "mlp_infer f32, CPU, median host_to_host\n");
    assert_has(text, "  ours: C ");
    assert_has_not(text, "GPU");
    free(text);
    record_free(&run);
}

static void one_size_is_told_without_counts(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){0.5}, 1);
    char *text = printed(all_findings, &run);
    assert_has(text, "  - CUDA is slower than PyTorch at the one batch size compared.");
    free(text);
    record_free(&run);
    for (unsigned slower = 0; slower < 2; slower++) {
        run = (record_t){.name = mem_text("planted")};
        plant_case(&run, (planted_t){"cuda", "cuda", "01_x", 1, 1000, CASE_OK, NULL}, 1, 1);
        plant_case(&run,
                   (planted_t){"pytorch", "cuda", "eager", 1, slower ? 500 : 2000, CASE_OK, NULL},
                   1, 2);
        text = printed(all_findings, &run);
        assert_has(text, slower
                             ? "CUDA does not have the lower time at the one batch size compared"
                             : "CUDA has the lower time at the one batch size compared, in one ");
        free(text);
        record_free(&run);
    }
}

static void other_contenders_stand_beside_both_sides(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){2}, 1);
    plant(&run, (planted_t){"mine", "cuda", "jit", 1, 4000, CASE_OK, NULL}, 9);
    char *text = printed(all_findings, &run);
    assert_has(text, "the fastest CUDA case against the strongest rival:\n  - CUDA is "
                     "faster at the one batch size compared.\n");
    assert_has(text, "(PyTorch eager)");
    assert_has(
        text,
        "  - Against PyTorch, the strongest at the one batch size: CUDA is faster at the one");
    assert_has(text, "  - Against mine, the strongest at no batch size: CUDA is faster at the one");
    free(text);
    text = printed(all_tables, &run);
    assert_has(text, "| mine best | Mode |");
    assert_has(text, "|  **2.00 µs** | eager |");
    assert_has(text, " µs | jit  | 4.0");
    assert_has(text, "Bold: the strongest rival of a row.");
    free(text);
    record_free(&run);
}

/* PyTorch's forward by the host's clock is 2000 ns, by the device's 1000. */
static void computation_is_compared_by_one_clock(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){4}, 1);
    for (size_t i = 0; i < run.cases[0].n_phases; i++)
        if (strcmp(run.cases[0].phases[i].name, "kernel") == 0)
            run.cases[0].phases[i].clock = CLOCK_DEVICE;
    plant_device_phase(&run.cases[1], "forward_device", 1000);
    char *text = printed(all_findings, &run);
    assert_has(text, "kernel, device clock) against ");
    assert_has(text, "forward_device, device clock).\n");
    assert_has_not(text, "host clock");
    free(text);
    plant_device_phase(&run.cases[0], "kernel_graph", 300);
    text = printed(all_tables, &run);
    assert_has(text, "#### The times of a kernel");
    assert_has_not(text, "kernel_cold");
    free(text);
    plant_device_phase(&run.cases[1], "forward_graph", 600);
    text = printed(all_findings, &run);
    assert_has(text, "kernel_graph, device clock) against ");
    assert_has(text, "forward_graph, device clock).\n");
    free(text);
    plant_device_phase(&run.cases[0], "kernel_cold", 700);
    text = printed(all_tables, &run);
    assert_has(text, "#### The four times of a kernel");
    assert_has(text, "| kernel_cold |");
    free(text);
    record_free(&run);
}

/* A share over 100 % has its reason; only what is flagged cannot be. */
static void more_than_the_limit_is_told(void **state) {
    (void)state;
    static const struct {
        double frac;
        const char *bound;
        bool flagged;
        const char *told;
    } TABLE[] = {
        {0.99, "dram", false, ""},
        {1.01, "dram", false, " (Up to 105 % is plausible: the DRAM rate comes from a copy"},
        {1.02, "l2", false, " (Up to 105 % is within the error of comparing two measurements.)"},
        {1.051, "dram", false, " (Data that stay on the chip from pass to pass"},
        {1.4, "fp32", false, " (Tensor cores compute float32 products in TF32 parts"},
        {1.8, "dram", true, " **No kernel can be that fast on this chip: the time is wrong.**"},
        {1.2, "launch", true, " **No kernel can be that fast on this chip: the time is wrong.**"},
    };
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++) {
        record_t run = plant_ratios((double[]){4}, 1);
        plant_device_phase(&run.cases[0], "kernel_graph", 300);
        run.cases[0].limit = (limit_t){.limit_ns = 300 * TABLE[i].frac,
                                       .frac = TABLE[i].frac,
                                       .bound = mem_text(TABLE[i].bound),
                                       .phase = mem_text("kernel_graph")};
        if (TABLE[i].flagged)
            flag_list_add(&run.cases[0].flags, FLAG_OVER_LIMIT, "dram", TABLE[i].frac, NAN);
        char *text = printed(all_findings, &run);
        assert_has(text, "**Against the limit**");
        assert_has(text, TABLE[i].told);
        assert_int_equal(strstr(text, "No kernel can be") != NULL, TABLE[i].flagged);
        assert_int_equal(strstr(text, "Up to 105") != NULL,
                         strstr(TABLE[i].told, "Up to 105") != NULL);
        free(text);
        record_free(&run);
    }
}

/* Whose rate the limit of matrix products is. */
static void limit_of_products_names_its_rate(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){4}, 1);
    environment_set_number(&run.environment, "measured.matmul_f32_flops_per_s", 50e12);
    plant_device_phase(&run.cases[0], "kernel_graph", 400);
    run.cases[0].limit = (limit_t){.flops = 10e6,
                                   .limit_ns = 200,
                                   .frac = 0.5,
                                   .bound = mem_text("matmul"),
                                   .phase = mem_text("kernel_graph")};
    char *text = printed(all_findings, &run);
    assert_has(text,
               "its 0.01 billion operations take at least 200 ns at 50.0 TFLOP/s, the rate of "
               "cuBLASLt (bound: matmul).");
    free(text);
    environment_set_number(&run.environment, "measured.matmul_f32_flops_per_s", 1);
    text = printed(all_findings, &run);
    assert_has(text, "the rate of this run's fastest CUDA case (bound: matmul).");
    free(text);
    record_free(&run);
}

/* Of one pass nothing is claimed; what it saw is told. */
static void one_pass_claims_nothing(void **state) {
    (void)state;
    record_t run = plant_one_pass();
    char *text = printed(all_findings, &run);
    assert_has(text, "CUDA has the lower time at 1 of the 2 batch sizes compared, PyTorch at 1, in "
                     "one pass; the spread between processes is unknown.");
    assert_has(text, "CUDA is about **3.4 times** as fast in one pass");
    assert_has(text, "PyTorch is about **5.0 times** as fast in one pass");
    assert_has_not(text, "is faster");
    assert_has_not(text, "rossover");
    free(text);
    text = printed(all_tables, &run);
    assert_has(text,
               "*vs PyTorch*: the rival's median over ours; above 1, CUDA had the lower time.");
    assert_has(text, "|     ≈ 3.4× |       3.43 µs |   ≈ 3.4× |");
    assert_has(text, "\n\nOne pass: the spread between processes is unknown.\n\n");
    assert_has_not(text, "interval");
    free(text);
    record_free(&run);
}

static void passes_are_counted_below_ratios(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){2}, 1);
    char *text = printed(all_tables, &run);
    assert_has(text,
               "median over ours, with its 95 % interval over passes; above 1, CUDA is faster");
    assert_has(text, "the widest 95 % interval is ± ");
    assert_has(text, "\n\n6 passes; 95 % intervals are over passes.\n\n");
    free(text);
    plant_case(&run, (planted_t){"cuda", "cuda", "01_study", 2, 1000, CASE_OK, NULL}, 4, 1);
    plant_case(&run, (planted_t){"pytorch", "cuda", "eager", 2, 3000, CASE_OK, NULL}, 4, 2);
    text = printed(all_tables, &run);
    assert_has(text, "\n\n4 to 6 passes; 95 % intervals are over passes, and with fewer than 5 the "
                     "spread between processes is unknown.\n\n");
    free(text);
    text = printed(all_findings, &run);
    assert_has(text, "CUDA is faster at 1 of the 2 batch sizes compared, PyTorch at 0, undecided "
                     "(fewer than 5 passes) at 1.");
    free(text);
    record_free(&run);
}

static void study_is_named_where_it_was_run(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){4}, 1);
    char *text = printed(all_tables, &run);
    assert_has(text, "CUDA: the study's set-up and the fastest case:");
    free(text);
    record_free(&run);
    run = (record_t){.name = mem_text("planted")};
    plant(&run, (planted_t){"cuda", "cuda", "05_other", 1, 500, CASE_OK, NULL}, 1);
    plant(&run, (planted_t){"pytorch", "cuda", "eager", 1, 900, CASE_OK, NULL}, 2);
    text = printed(all_tables, &run);
    assert_has(text, "CUDA: the fastest case:");
    free(text);
    record_free(&run);
}

static void limit_stands_in_every_table_of_compute_times(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){4}, 1);
    plant_device_phase(&run.cases[0], "kernel_graph", 300);
    plant_device_phase(&run.cases[0], "kernel_stream", 400);
    run.cases[0].limit = (limit_t){
        .limit_ns = 150, .frac = 0.5, .bound = mem_text("dram"), .phase = mem_text("kernel_graph")};
    char *text = printed(all_tables, &run);
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, "of the limit |")) != NULL; at++)
        n++;
    assert_int_equal(n, 4); /* phases of both sides, one launch, times of a kernel */
    free(text);
    record_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_is_told_by_rates_and_floors),
        cmocka_unit_test(device_tells_rates_of_products),
        cmocka_unit_test(environment_says_each_thing_once),
        cmocka_unit_test(side_without_times_is_one_sentence),
        cmocka_unit_test(one_size_is_told_without_counts),
        cmocka_unit_test(other_contenders_stand_beside_both_sides),
        cmocka_unit_test(computation_is_compared_by_one_clock),
        cmocka_unit_test(more_than_the_limit_is_told),
        cmocka_unit_test(limit_of_products_names_its_rate),
        cmocka_unit_test(one_pass_claims_nothing),
        cmocka_unit_test(passes_are_counted_below_ratios),
        cmocka_unit_test(study_is_named_where_it_was_run),
        cmocka_unit_test(limit_stands_in_every_table_of_compute_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
