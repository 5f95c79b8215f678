/* What bounds a training: the arithmetic, what it needs to be known, and where the charts of the
 * ladder show it. */
#include "planted_training.h"

#include "limits/limits.h"
#include "plot/lines.h"

/* Round figures near those of a data-centre GPU. */
static const device_rates_t RATES = {
    .dram_bytes_per_s = 4e12, .l2_bytes_per_s = 10e12, .l2_bytes = 50e6, .barrier_ns = 1000};

static case_t case_of(int points) {
    return planted_case(&(planted_t){.engine = "cuda",
                                     .device = "cuda",
                                     .variant = "05_graph",
                                     .size = points,
                                     .workload = "linreg_train",
                                     .epochs = 200});
}

static void assert_bound(int points, training_bound_t bound, double expected_ns) {
    case_t spec = case_of(points);
    double ns = training_bound(bound, &spec, &RATES).ns;
    if (isnan(expected_ns))
        assert_true(isnan(ns));
    else
        assert_true(fabs(ns / expected_ns - 1) < 1e-12);
    case_free(&spec);
}

/* 4 M of 5 M points train: 32 MB, which fit into the L2; 320 MB do not; 32 KB need no second block.
 */
static void bounds_are_bytes_over_rates(void **state) {
    (void)state;
    assert_bound(5000000, BOUND_DRAM, 200 * 32e6 / 4e12 * 1e9);
    assert_bound(5000000, BOUND_L2, 200 * 32e6 / 10e12 * 1e9);
    assert_bound(5000000, BOUND_BARRIER, 200e3);
    assert_bound(5000000, BOUND_ONCE, 32e6 / 4e12 * 1e9);
    assert_bound(50000000, BOUND_L2, NAN);
    assert_bound(50000000, BOUND_BARRIER, 200e3);
    assert_bound(5000, BOUND_BARRIER, NAN);
}

/* What its rate is not known of is no bound. */
static void bounds_need_their_rates(void **state) {
    (void)state;
    device_rates_t copy_alone = {
        .dram_bytes_per_s = 4e12, .l2_bytes_per_s = NAN, .l2_bytes = 50e6, .barrier_ns = NAN};
    case_t spec = case_of(5000000);
    const lower_bound_t once = training_bound(BOUND_ONCE, &spec, &copy_alone);
    assert_true(once.times == 1 && once.bytes == 32e6 && once.bytes_per_s == 4e12);
    assert_true(isnan(training_bound(BOUND_L2, &spec, &copy_alone).ns));
    assert_true(isnan(training_bound(BOUND_BARRIER, &spec, &copy_alone).ns));
    case_free(&spec);
}

static void add_gauge(record_t *run, const char *variant, int64_t bytes, const char *phase,
                      double ns) {
    case_t spec = {.id = mem_format("device/cuda/%s", variant),
                   .workload = mem_text("device"),
                   .engine = mem_text("cuda"),
                   .variant = mem_text(variant)};
    case_add_param(&spec, "bytes", &(value_t){.kind = VALUE_INT, .integer = bytes});
    case_result_t result;
    result_init(&result, &spec);
    case_free(&spec);
    add_phase(&result, phase, ns);
    mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
    run->cases[run->n_cases++] = result;
}

/* A run's own cases have the word; its head tells the rest. */
static void rates_are_the_runs(void **state) {
    (void)state;
    record_t run = {0};
    environment_set_number(&run.environment, "gpu.l2_bytes", 50e6);
    environment_set_number(&run.environment, "gpu.multiprocessors", 100);
    environment_set_number(&run.environment, "gpu.clock_mhz", 1500);
    environment_set_number(&run.environment, "gpu.clock_max_mhz", 2000);
    environment_set(&run.environment, "gpu.arch", "sm_90");
    environment_set_number(&run.environment, "measured.copy_bytes_per_s", 1e12);
    environment_set_number(&run.environment, "measured.dram_read_bytes_per_s", 6e12);
    environment_set_number(&run.environment, "measured.empty_graph_node_ns", 511);
    environment_set_number(&run.environment, "measured.event_pair_ns", 1280);
    environment_set_number(&run.environment, "measured.grid_barrier_ns", 1234);
    add_gauge(&run, "copy", 1000000000, "kernel", 500e3);
    add_gauge(&run, "01_read", 10000000, "kernel", 1e3);
    add_gauge(&run, "01_read", 1000000000, "kernel", 170e3); /* an older run's: not used */
    device_rates_t rates = device_rates_of_record(&run);
    assert_true(fabs(rates.dram_bytes_per_s / 4e12 - 1) < 1e-9);
    assert_true(fabs(rates.l2_bytes_per_s / 10e12 - 1) < 1e-9);
    assert_true(fabs(rates.on_chip_bytes / (50e6 + 100 * 495616.0) - 1) < 1e-12);
    assert_true(fabs(rates.fp32_flops_per_s / (100 * 256 * 2e9) - 1) < 1e-12);
    assert_true(rates.launch_ns == 511 && rates.event_ns == 1280);
    assert_true(rates.barrier_ns == 1234);
    add_gauge(&run, "02_barrier", 1, "barrier", 980);
    assert_true(fabs(device_rates_of_record(&run).barrier_ns / 980 - 1) < 1e-9);
    environment_set(&run.environment, "gpu.arch", "sm_80");
    assert_true(fabs(device_rates_of_record(&run).fp32_flops_per_s / (100 * 128 * 2e9) - 1) <
                1e-12);
    record_free(&run);
}

static case_result_t *add_training(record_t *run) {
    case_t spec = case_of(50000000);
    case_result_t result;
    result_init(&result, &spec);
    case_free(&spec);
    add_phase(&result, "train_device", 20e6);
    result.limit = (limit_t){.bytes = 320e6,
                             .limit_ns = 1e6,
                             .frac = 0.05,
                             .bound = mem_text("fp32"),
                             .phase = mem_text("train_device")};
    mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
    run->cases[run->n_cases++] = result;
    return &run->cases[run->n_cases - 1];
}

/* A run that was stored before further passes counted: 320 MB, 100 of which stay on the chip. */
static void limits_of_a_loaded_run_are_judged_again(void **state) {
    (void)state;
    record_t run = {0};
    environment_set_number(&run.environment, "gpu.l2_bytes", 100e6 - 495616);
    environment_set_number(&run.environment, "gpu.multiprocessors", 1);
    environment_set_number(&run.environment, "gpu.clock_mhz", 1e6);
    environment_set_number(&run.environment, "measured.copy_bytes_per_s", 4e12);
    environment_set_number(&run.environment, "measured.l2_read_bytes_per_s", 10e12);
    case_result_t *result = add_training(&run);
    device_rates_set_limits_again(&run); /* the time of a launch is not known: nothing changes */
    assert_string_equal(result->limit.bound, "fp32");
    assert_true(result->limit.frac == 0.05);
    environment_set_number(&run.environment, "measured.empty_graph_node_ns", 500);
    device_rates_set_limits_again(&run);
    assert_string_equal(result->limit.bound, "dram");
    assert_true(fabs(result->limit.limit_ns / ((320e6 + 199 * 220e6) / 4e12 * 1e9) - 1) < 1e-9);
    assert_true(fabs(result->limit.frac / (result->limit.limit_ns / 20e6) - 1) < 1e-9);
    free(result->limit.bound);
    result->limit.bound = NULL; /* a case without a limit gets none */
    device_rates_set_limits_again(&run);
    assert_null(result->limit.bound);
    record_free(&run);
}

#define RUNG(variant, points, ns)                                                                  \
    {                                                                                              \
        "cuda", "cuda", variant, points, 200, CASE_OK, NULL, {                                     \
            {"train_device", ns}, {                                                                \
                "train", 2 * (ns)                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

/* The run of a device of which only the copy rate and the barrier are known. */
static void load_ladder(world_t *world) {
    LOAD_TRAININGS(world, RUNG("02_fused", 5000, 1e6), RUNG("02_fused", 5000000, 3e6),
                   RUNG("06_persistent", 5000000, 0.5e6),
                   {"cuda",
                    "cuda",
                    "07_sums",
                    5000000,
                    200,
                    CASE_OK,
                    "{\"algorithmic\":true}",
                    {{"train_device", 20e3}}});
    environment_t *environment = &world->source.run.environment;
    environment_set_number(environment, "measured.copy_bytes_per_s", 4e12);
    environment_set_number(environment, "measured.grid_barrier_ns", 1000);
}

static void ladder_has_a_line_for_each_known_bound(void **state) {
    world_t *world = *state;
    load_ladder(world);
    chart_t chart = {0};
    assert_drawn(chart_ladder(world->data, &chart));
    const char *table = table_of(&chart);
    assert_has(table, "\"limit: every epoch from DRAM\"\n5000 1.6\n5000000 1600\n");
    assert_has(table, "\"limit: a grid barrier per epoch\"\n5000 NaN\n5000000 200\n");
    assert_has(table, "\"limit: read once from DRAM\"\n5000 0.008\n5000000 8\n");
    assert_lacks(table, "L2");
    assert_true(text_list_has(&chart.numbers, "n_limits=3"));
    assert_true(text_list_has(&chart.numbers, "note_lines=4"));
    assert_has(chart.note, "phase train_device");
    assert_has(chart.note, "\nlimit at points 5 M, every epoch from DRAM: 200 × 32.0 MB / ");
    chart_free(&chart);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_bytes_over_rates),
        cmocka_unit_test(bounds_need_their_rates),
        cmocka_unit_test(rates_are_the_runs),
        cmocka_unit_test(limits_of_a_loaded_run_are_judged_again),
        WITH_FOLDER(ladder_has_a_line_for_each_known_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
