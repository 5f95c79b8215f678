/* Sections of the report, printed by themselves from runs whose truth is planted. */
#include "checks.h"
#include "made_case.h"
#include "planted_run.h"
#include "printed_section.h"
#include "report/report.h"
#include "workloads/common/workload.h"

static char *page_of(const record_t *run) {
    return printed_page(run, "mlp_infer");
}

/* A case of the device's calibration with one phase of 160 equal samples. */
static void plant_gauge(record_t *run, const char *workload, const char *variant, int64_t bytes,
                        const char *phase_name, double median_ns) {
    case_t spec = made_case(workload, "cuda", "cuda", variant);
    spec.id = mem_format("%s/cuda/%s", workload, variant);
    add_integer(&spec, "bytes", bytes);
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
    AUTO(record_free) record_t run = {.name = mem_text("planted")};
    environment_set_number(&run.environment, "gpu.l2_bytes", 50e6);
    plant_gauge(&run, "device", "copy", 1000000000, "kernel", 500e3);
    plant_gauge(&run, "device", "01_read", 16000000, "kernel", 2e3);
    plant_gauge(&run, "device", "01_read", 1000000000, "kernel", 200e3);
    plant_gauge(&run, "device", "02_barrier", 1, "barrier", 980);
    plant_gauge(&run, "null", "01_empty", 0, "event_pair", 1250);
    AUTO_FREE char *text = printed(section_device, &run);
    assert_has(text, "## The device, measured in this run");
    assert_has(text, "- DRAM, copying 1.00 GB: **4.00 TB/s**;"); /* read and written */
    assert_has(text, "- L2, reading 16.0 MB: **8.00 TB/s**;");   /* read only */
    assert_lacks(text, "DRAM, reading"); /* of an older run: limits come from the copy rate */
    assert_has(text, "- Barrier of the whole grid: **980 ns**; ");
    assert_lacks(text, "L2, reading 1.00 GB");
    assert_has(text, "nothing between: **1.25 µs**; ");
    free(text);
    assert_int_equal(count_statuses(&run).all, 0); /* they are no cases of interest */
    record_free(&run);
    run = plant_ratios((double[]){2}, 1);
    text = printed(section_device, &run);
    assert_string_equal(text, "");
}

/* A rate for each dtype, and which of them is the limit. */
static void device_tells_rates_of_products(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){2}, 1);
    const double flops = 2.0 * 8192 * 8192 * 8192;
    plant_gauge(&run, "device", "matmul", 8192LL * 8192 * 4, "f32", flops / 50e12 * 1e9);
    plant_gauge(&run, "device", "matmul", 1024 * 1024 * 4, "tf32", 1e6);
    AUTO_FREE char *text = printed(section_device, &run);
    assert_has(text,
               "- cuBLASLt, f32, 8192 × 8192: **50.0 TFLOP/s**; the *matmul* limit of this dtype");
    assert_has(text, "; not used: too small for the rate of a chip");
}

static void environment_says_each_thing_once(void **state) {
    AUTO(record_free) record_t run = {.name = mem_text("planted")};
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
    AUTO_FREE char *text = printed(section_environment, &run);
    assert_has(text, "- gpu: name Some GPU, memory 150 GB, clock max 1980 MHz, ecc yes\n");
    assert_has(text, "- git: dirty no\n");
    assert_has(text, "- workers.pytorch-cuda: torch 2.11.0, numpy 2.5.2\n");
    assert_has(text, "something new a \\| b");
    assert_lacks(text, "kind");
}

static void side_without_times_is_one_sentence(void **state) {
    AUTO(record_free) record_t run = {.name = mem_text("planted")};
    plant(&run, (planted_t){"cuda", "cuda", "01_study", 1, 1, CASE_SKIPPED, "no GPU"}, 1);
    plant(&run, (planted_t){"pytorch", "cuda", "eager", 1, 1, CASE_FAILED, "no GPU"}, 1);
    plant(&run, (planted_t){"cpu", "cpu", "omp", 1, 500, CASE_OK, NULL}, 2);
    plant(&run, (planted_t){"pytorch", "cpu", "eager", 1, 1000, CASE_OK, NULL}, 3);
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "- f32, on the GPU: none of the 2 cases has a valid time.");
    assert_has(text, "on the CPU, `host_to_host`**: **C 2.0");
    free(text);
    text = report_workload_tables(&run, NULL);
    assert_has(text, "mlp_infer f32, CPU, median host_to_host\n");
    assert_has(text, "  ours: C ");
    assert_lacks(text, "GPU");
}

/* Decided, even, and in too few passes to say. */
static void comparisons_have_one_form(void **state) {
    static const struct {
        double ratios[3];
        const char *said;
    } RUNS[] = {
        {{2, 3, 4}, "faster at 3 of 3 sizes.\n"},
        {{0.5, 0.5, 4}, "faster at 1 of 3 sizes, slower at 2 (1–2).\n"},
        {{2, 0.5, 4}, "faster at 2 of 3 sizes, slower at 1 (2).\n"},
        {{1, 0.5, 1}, "faster at 0 of 3 sizes, slower at 1 (2), no difference at 2 (1, 4).\n"},
    };
    for (size_t i = 0; i < COUNT_OF(RUNS); i++) {
        record_t run = plant_ratios(RUNS[i].ratios, 3);
        char *text = page_of(&run);
        assert_has(text, RUNS[i].said);
        free(text);
        record_free(&run);
    }
    AUTO(record_free) record_t run = plant_one_pass();
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "**PyTorch ≈ 5.0×** at batch 2, ");
    assert_has(text, "; lower time at 1 of 2 sizes, in too few passes to say more.\n");
    assert_lacks(text, "faster at");
    free(text);
    record_free(&run);
    run = plant_ratios((double[]){2}, 1);
    plant_case(&run, (planted_t){"cuda", "cuda", "01_study", 2, 1000, CASE_OK, NULL}, 4, 1);
    plant_case(&run, (planted_t){"pytorch", "cuda", "eager", 2, 3000, CASE_OK, NULL}, 4, 2);
    text = page_of(&run);
    assert_has(text, "; faster at 1 of 2 sizes, undecided at 1 (2).\n");
}

static void rivals_stand_beside_each_other(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){2}, 1);
    plant(&run, (planted_t){"mine", "cuda", "jit", 1, 4000, CASE_OK, NULL}, 9);
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "(PyTorch eager); faster at 1 of 1 sizes.\n");
    assert_has(text, "| mine        |");
    assert_has(text, "| **2.00 µs** eager | ");
    assert_has(text, "µs jit");
}

static void all_times_of_a_kernel_are_in_one_table(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){4}, 1);
    AUTO_FREE char *text = page_of(&run);
    assert_lacks(text, "| in a graph |"); /* a column that no case has a time for */
    free(text);
    plant_device_phase(&run.cases[0], "kernel_graph", 300);
    plant_device_phase(&run.cases[0], "kernel_stream", 400);
    plant_device_phase(&run.cases[0], "kernel_cold", 700);
    plant_device_phase(&run.cases[1], "forward_device", 1000);
    run.cases[0].limit = (limit_t){
        .limit_ns = 150, .frac = 0.5, .bound = mem_text("dram"), .phase = mem_text("kernel_graph")};
    text = page_of(&run);
    assert_has(text, "| one, device clock | back to back | in a graph |   cold | of the limit |");
    assert_has(text, "|       399 ns |     299 ns | 698 ns |         50 % |");
    assert_has(text, "|            997 ns |            – |          – |      – |            – |");
    assert_has(text, "|    50 % dram |"); /* by size */
}

static void two_runs_of_a_contender_are_held_against_each_other(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){4}, 1);
    run.cases[0].determinism = DETERMINISTIC;
    run.cases[1].determinism = NONDETERMINISTIC;
    char *text = page_of(&run), *rows = strstr(text, "### Contenders");
    assert_has(rows, "| two runs |");
    assert_has(rows, "| equal    |");
    assert_true(strstr(rows, "| equal    |") <
                strstr(rows, "| differ   |")); /* ours is the first */
    free(text);
}

static void passes_are_counted(void **state) {
    page_t page;
    page_open(&page);
    static const struct {
        passes_t passes;
        const char *note;
    } NOTES[] = {
        {{0}, ""},
        {{.fewest = 1, .most = 1}, "One pass: the spread between processes is unknown."},
        {{.fewest = 6, .most = 6}, "6 passes; 95 % intervals are over passes."},
        {{.fewest = 4, .most = 6}, "4 to 6 passes; 95 % intervals are over passes, from 5 on."},
        {{.fewest = 6, .most = 6, .devices = "0,1 at once"},
         "6 passes, on GPUs 0,1 at once; 95 % intervals are over passes."},
    };
    for (size_t i = 0; i < COUNT_OF(NOTES); i++)
        assert_string_equal(passes_note(&page.report, NOTES[i].passes), NOTES[i].note);
    free(page_close(&page));
}

/* A CUDA case at batch 64 with its techniques as "name=choice/name=choice". */
static void plant_techniques(record_t *run, const char *variant, double median_ns,
                             const char *techniques) {
    plant(run, (planted_t){"cuda", "cuda", variant, 64, median_ns, CASE_OK, NULL}, run->n_cases);
    case_result_t *result = &run->cases[run->n_cases - 1];
    if (*techniques != '\0') {
        char *id = mem_format("%s/%s", result->spec.id, techniques);
        free(result->spec.id);
        result->spec.id = id;
    }
    text_list_t parts = text_split(techniques, '/');
    for (size_t i = 0; i < parts.n; i++) {
        char *choice = strchr(parts.items[i], '=');
        *choice = '\0';
        case_add_technique(&result->spec, parts.items[i], choice + 1);
    }
    text_list_free(&parts);
}

static record_t run_with_techniques(void) {
    record_t run = {.name = mem_text("planted")};
    plant_techniques(&run, "02_x", 8000, "");
    plant_techniques(&run, "02_x", 4000, "alloc=arena");
    plant_techniques(&run, "02_x", 16000, "copy=pinned");
    plant_techniques(&run, "02_x", 1000, "alloc=arena/copy=mapped");
    plant_techniques(&run, "02_x", 500, "alloc=arena/copy=mapped/wait=poll");
    plant(&run, (planted_t){"pytorch", "cuda", "graph", 64, 3000, CASE_OK, NULL}, 99);
    return run;
}

static void each_technique_is_told_with_all_else_fixed(void **state) {
    AUTO(record_free) record_t run = run_with_techniques();
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "- **Host techniques**, rung 02_x, `host_to_host`: ");
    assert_has(text, "  - `copy`, pageable → pinned: batch 64 0.5"); /* the study's alloc alone */
    assert_has(text, "  - `wait`, sync → poll: batch 64 ");
    assert_lacks(text, "malloc → async"); /* no pair differs in that alone */
    assert_lacks(text, "`launch`, ");
}

static void what_polling_wins_is_also_told_without_it(void **state) {
    AUTO(record_free) record_t run = run_with_techniques();
    plant(&run, (planted_t){"pytorch", "cuda", "mapped", 64, 600, CASE_OK, NULL}, 98);
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "without polling |");
    free(text);
    record_free(&run);
    run = plant_ratios((double[]){2}, 1);
    text = page_of(&run);
    assert_lacks(text, "polling");
}

/* Of calls, which are compared, too: a step that is timed by operation is not. */
static void parts_of_calls_have_a_table_at_few_sizes(void **state) {
    static const int64_t SIZES[] = {1, 4, 16, 64, 256};
    AUTO(record_free) record_t run = {.name = mem_text("planted")};
    for (size_t i = 0; i < COUNT_OF(SIZES); i++) {
        plant(&run, (planted_t){"cuda", "cuda", "01_study", SIZES[i], 90e3, CASE_OK, NULL}, i);
        plant_device_phase(&run.cases[run.n_cases - 1], PART_PHASE "scale", 10e3);
        plant_device_phase(&run.cases[run.n_cases - 1], PART_PHASE "forward", 20e3);
        plant(&run,
              (planted_t){"cuda", "cuda", "02_thread_per_sample", SIZES[i], 80e3, CASE_OK, NULL},
              9);
        plant(&run, (planted_t){"cuda", "cuda", "03_vectorized", SIZES[i], 70e3, CASE_FAILED, "no"},
              9);
        plant(&run, (planted_t){"pytorch", "cuda", "eager", SIZES[i], 50e3, CASE_OK, NULL}, 9);
    }
    AUTO_FREE char *text = page_of(&run);
    const char *table = strstr(text, "### Parts of a step");
    assert_non_null(table);
    assert_has(text, "### By size");
    assert_has(table, "|   scale | forward |     sum |\n");
    assert_has(table, "|    1 | CUDA 01_study | 9.97 µs | 19.9 µs | 29.9 µs |\n");
    assert_has(table, "|   64 | CUDA 01_study | 9.97 µs | 19.9 µs | 29.9 µs |\n");
    assert_has(table, "|  256 | CUDA 01_study | 9.97 µs | 19.9 µs | 29.9 µs |\n\n");
    assert_lacks(table, "|   16 |");
    *strstr((char *)table, "\n\n###") = '\0';
    assert_lacks(table, "02_thread_per_sample");
    assert_lacks(table, "failed");
    assert_lacks(table, "PyTorch");
    free(text);
    for (size_t i = 0; i < run.n_cases; i++) {
        case_t *spec = &run.cases[i].spec;
        char *id = mem_format("%s/copy=mapped", spec->id);
        case_add_technique(spec, "copy", "mapped");
        free(spec->id);
        spec->id = id;
    }
    text = page_of(&run);
    assert_lacks(text, "Parts of a step");
}

#include "run_tests.h"
