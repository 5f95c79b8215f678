/* Charts of a training from several seeds, whose steps move all of its weights. */
#include "analysis/learning.h"
#include "analysis/speedup.h"
#include "checks.h"
#include "made_case.h"
#include "planted_mnist.h"
#include "plot/limit_lines.h"

#define STEP(us)                                                                                   \
    {                                                                                              \
        {"step", (us)*1e3}, {"step_device", (us)*0.9e3}, {                                         \
            "total", 1e9                                                                           \
        }                                                                                          \
    }
#define LOSS(a, b) "{\"loss\": [[0, " #a "], [10, " #b "]], \"dataset\": \"mnist\"}"
#define LOSS_F16(a, b) "{\"loss\": [[0, " #a "], [10, " #b "]], \"weights\": \"f16\"}"
#define LOSS_F32(a, b) "{\"loss\": [[0, " #a "], [10, " #b "]], \"weights\": \"f32\"}"

/* ---- curves ---------------------------------------------------------------------------------- */

static void a_running_mean_has_whole_windows_only(void **state) {
    curve_t curve = {(double[]){0, 10, 20, 30, 40}, (double[]){1, 4, 7, 4, 10}, 5};
    curve_t smooth = curve_smooth(&curve, 3);
    assert_int_equal(smooth.n, 3);
    assert_true(smooth.steps[0] == 10 && smooth.values[0] == 4);
    assert_true(smooth.steps[2] == 30 && smooth.values[2] == 7);
    curve_free(&smooth);
    smooth = curve_smooth(&curve, 1);
    assert_int_equal(smooth.n, 5);
    assert_true(smooth.values[4] == 10);
    curve_free(&smooth);
    smooth = curve_smooth(&curve, 7); /* longer than the curve */
    assert_int_equal(smooth.n, 0);
    curve_free(&smooth);
}

static void windows_are_odd_and_short_for_short_curves(void **state) {
    static const struct {
        size_t n, window;
    } EXPECTED[] = {{1, 1}, {2, 1}, {21, 3}, {101, 11}, {501, 21}, {5001, 21}};
    for (size_t i = 0; i < COUNT_OF(EXPECTED); i++)
        assert_int_equal(curve_window(&(curve_t){.n = EXPECTED[i].n}), EXPECTED[i].window);
}

static void distances_are_the_largest_at_common_steps(void **state) {
    curve_t a = {(double[]){0, 10, 20}, (double[]){2, 3, 9}, 3};
    curve_t b = {(double[]){0, 10, 30}, (double[]){2.5, 1, 1}, 3};
    curve_t c = {(double[]){5}, (double[]){2.5}, 1};
    assert_true(curve_distance(&a, &b) == 2);
    assert_true(isnan(curve_distance(&a, &c)));
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* W of 8192 is 281 MB, of which the L2 keeps 50; of 128 it keeps all. */
static const device_rates_t RATES = {
    .dram_bytes_per_s = 4e12, .l2_bytes_per_s = 10e12, .l2_bytes = 50e6, .barrier_ns = 1000};

static double weights_bytes(int hidden) {
    return 2.0 * (784.0 * hidden + 2.0 * hidden * hidden + 10.0 * hidden);
}

static case_t case_of(int hidden) {
    return network_case(&(network_t){
        .engine = "cuda", .variant = "05_persistent", .hidden = hidden, .seed = 1, .steps = 5000});
}

static void assert_bound(int hidden, training_bound_t bound, double expected_ns) {
    case_t spec = case_of(hidden);
    double ns = training_bound_ns(bound, &spec, &RATES);
    assert_true(isnan(expected_ns) ? isnan(ns) : fabs(ns / expected_ns - 1) < 1e-12);
    case_free(&spec);
}

static void bounds_are_three_passes_over_the_weights(void **state) {
    assert_bound(8192, BOUND_WEIGHTS, 3 * weights_bytes(8192) / 4e12 * 1e9);
    assert_bound(8192, BOUND_KEPT, 3 * (weights_bytes(8192) - 50e6) / 4e12 * 1e9);
    assert_bound(128, BOUND_WEIGHTS, 3 * weights_bytes(128) / 4e12 * 1e9);
    assert_bound(128, BOUND_KEPT, 3 * weights_bytes(128) / 10e12 * 1e9);
    /* Nearly all is kept: what binds is the way through the L2. */
    assert_bound(3500, BOUND_KEPT, 3 * weights_bytes(3500) / 10e12 * 1e9);
    assert_bound(8192, BOUND_DRAM, NAN); /* of another workload */
}

static void arithmetic_of_weights_can_be_checked_by_hand(void **state) {
    case_t wide = case_of(8192), narrow = case_of(1024);
    char *texts[] = {training_bound_arithmetic(BOUND_WEIGHTS, &wide, &RATES),
                     training_bound_arithmetic(BOUND_KEPT, &wide, &RATES),
                     training_bound_arithmetic(BOUND_KEPT, &narrow, &RATES),
                     training_bound_arithmetic(BOUND_KEPT, &wide, &DEVICE_RATES_UNKNOWN)};
    assert_string_equal(texts[0], "3 × 281 MB / 4.00 TB/s = 211 µs");
    assert_string_equal(texts[1], "3 × (281 MB − 50.0 MB) / 4.00 TB/s = 174 µs");
    assert_string_equal(texts[2], "3 × 5.82 MB / 10.0 TB/s = 1.75 µs");
    assert_null(texts[3]);
    for (size_t i = 0; i < 3; i++)
        free(texts[i]);
    /* 2 bytes of each weight forward, 4 backward and 4 written: 2.5 times 4. */
    set_text(&wide.dtype, "mixed");
    char *mixed = training_bound_arithmetic(BOUND_WEIGHTS, &wide, &RATES);
    assert_string_equal(mixed, "2.5 × 563 MB / 4.00 TB/s = 352 µs");
    assert_string_equal(training_bound_name(BOUND_WEIGHTS, &wide), "2.5·W per step, in DRAM");
    assert_string_equal(training_bound_name(BOUND_WEIGHTS, &narrow), "3·W per step, in DRAM");
    free(mixed);
    case_free(&wide);
    case_free(&narrow);
}

/* ---- time against size ----------------------------------------------------------------------- */

static const network_t BY_STEP[] = {
    {"cuda", "04_weight_streaming", 128, 1, 5000, CASE_OK, LOSS(2, 1), STEP(15)},
    {"cuda", "04_weight_streaming", 8192, 1, 5000, CASE_OK, LOSS(2, 1), STEP(300)},
    {"cuda", "05_persistent", 128, 1, 5000, CASE_OK, LOSS(2, 1), STEP(8)},
    {"cuda", "05_persistent", 8192, 1, 5000, CASE_SKIPPED, NULL, {{NULL, 0}}},
    {"pytorch", "graph", 128, 1, 5000, CASE_OK, LOSS_F16(2, 1), STEP(88)},
    {"pytorch", "graph", 8192, 1, 5000, CASE_OK, LOSS_F16(2, 1), STEP(900)},
    {"pytorch", "graph", 128, 2, 5000, CASE_OK, LOSS_F16(2, 1), STEP(1)}, /* another seed */
};
enum { N_BY_STEP = COUNT_OF(BY_STEP) };

static void contenders_are_compared_by_the_step(void **state) {
    world_t *world = *state;
    load_networks(world, BY_STEP, N_BY_STEP);
    chart_t chart = {0};
    assert_drawn(chart_times(world->data, &chart));
    assert_has(chart.note, "mnist_train, batch 32, steps 5000, rate 0.003, seed 1, f16");
    assert_has(chart.note, "phase step, host clock");
    const char *table = table_of(&chart);
    assert_has(table, "\"CUDA 05_persistent\" low high throttled status\n128 8 ");
    assert_has(table, "8192 NaN NaN NaN 0 \"skipped\"");
    char *best = strstr(table, "\"CUDA, the fastest at each hidden size\"");
    assert_non_null(best);
    assert_has(best, "\n128 8 ");
    assert_has(best, "\n8192 300 ");
    assert_true(text_list_has(&chart.numbers, "size_plain=1"));
    chart_free(&chart);
    chart = (chart_t){0};
    assert_drawn(chart_speed(world->data, &chart));
    assert_has(chart.note, "phase step");
    assert_has(table_of(&chart), "128 11 \"11.0×\"");
    assert_has(table_of(&chart), "8192 3 \"3.00×\"");
    chart_free(&chart);
}

static void made_up_images_are_named_in_every_note(void **state) {
    world_t *world = *state;
    LOAD_NETWORKS(world,
                  {"cuda", "05_persistent", 128, 1, 5000, CASE_OK,
                   "{\"loss\": [[0, 2], [10, 1]], \"dataset\": \"synthetic\"}", STEP(8)},
                  {"cuda", "05_persistent", 256, 1, 5000, CASE_OK,
                   "{\"loss\": [[0, 2], [10, 1]], \"dataset\": \"synthetic\"}", STEP(8)});
    static chart_build_t *const BUILD[] = {chart_times, chart_loss, chart_ladder};
    for (size_t i = 0; i < COUNT_OF(BUILD); i++) {
        chart_t chart = {0};
        assert_drawn(BUILD[i](world->data, &chart));
        assert_has(chart.note, "f16, dataset=synthetic");
        chart_free(&chart);
    }
}

/* ---- losses ---------------------------------------------------------------------------------- */

static void seeds_are_thin_and_their_mean_thick(void **state) {
    world_t *world = *state;
    LOAD_NETWORKS(world,
                  {"cuda", "04_weight_streaming", 128, 1, 5000, CASE_OK, LOSS(2, 1), STEP(15)},
                  {"cuda", "05_persistent", 128, 1, 5000, CASE_OK, LOSS(2, 1), STEP(8)},
                  {"cuda", "05_persistent", 128, 2, 5000, CASE_OK, LOSS(4, 3), STEP(8)},
                  {"pytorch", "eager", 128, 1, 5000, CASE_OK, LOSS_F32(2.5, 1.5), STEP(900)},
                  {"pytorch", "graph", 128, 1, 5000, CASE_OK, LOSS_F16(2, 1.25), STEP(90)},
                  {"pytorch", "graph", 128, 2, 5000, CASE_OK, LOSS_F16(4, 3), STEP(90)},
                  {"pytorch", "graph", 256, 1, 5000, CASE_OK, LOSS_F16(7, 7), STEP(90)});
    chart_t chart = {0};
    assert_drawn(chart_loss(world->data, &chart));
    const char *table = table_of(&chart);
    /* The reference is PyTorch with weights of the same precision, and comes first. */
    assert_has(table, "0 \"hidden 128\"\n\n\n# seed 1\nstep \"PyTorch graph\" difference\n"
                      "0 2 NaN\n10 1.25 NaN\n\n\n# seed 2\n");
    assert_has(table, "# mean over the seeds\nstep \"PyTorch graph\" difference\n"
                      "0 3 NaN\n10 2.125 NaN\n");
    assert_has(table, "# seed 1\nstep \"PyTorch eager\" difference\n0 2.5 NaN\n10 1.5 NaN\n");
    assert_has(table, "# mean over the seeds\nstep \"CUDA 05_persistent\" difference\n"
                      "0 3 0\n10 2 -0.125\n");
    assert_has(table, "step \"CUDA 05_persistent (2 seeds)\"");
    assert_has(table, "step \"PyTorch eager (1 seed)\"");
    assert_lacks(table, "04_weight_streaming"); /* a slower rung with fewer seeds */
    assert_lacks(table, "hidden 256");          /* from one seed only */
    assert_true(text_list_has(&chart.numbers, "thick='0 0 3 1 0 0 2 2 2 2'"));
    assert_true(text_list_has(&chart.numbers, "n_drawn=7"));
    assert_has(chart.note, "mnist_train, batch 32, steps 5000, rate 0.003, f16  ·");
    assert_has(chart.note, "difference from PyTorch graph");
    chart_free(&chart);
}

static void rungs_alone_are_held_against_each_other(void **state) {
    world_t *world = *state;
    LOAD_NETWORKS(world, {"cuda", "03_tensor_cores", 128, 1, 5000, CASE_OK, LOSS(2, 1), STEP(15)},
                  {"cuda", "05_persistent", 128, 1, 5000, CASE_OK, LOSS(2, 1.5), STEP(8)},
                  {"cuda", "06_wrong", 128, 1, 5000, CASE_WRONG, LOSS(99, 99), STEP(8)});
    chart_t chart = {0};
    assert_drawn(chart_loss(world->data, &chart));
    assert_has(table_of(&chart), "step \"CUDA 05_persistent\" difference\n0 2 0\n10 1.5 0.5\n");
    assert_has(chart.note, "difference from CUDA 03_tensor_cores");
    assert_lacks(table_of(&chart), "99");
    chart_free(&chart);
}

static void without_losses_there_is_no_chart(void **state) {
    world_t *world = *state;
    LOAD_NETWORKS(world, {"cuda", "05_persistent", 128, 1, 5000, CASE_OK, "{}", STEP(8)});
    chart_t chart = {0};
    char *why = chart_loss(world->data, &chart);
    assert_string_equal(why, "no case recorded its loss over the training");
    free(why);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void parts_of_a_step_are_sums_of_its_stages(void **state) {
    world_t *world = *state;
    LOAD_NETWORKS(world,
                  {"cuda",
                   "01_library",
                   128,
                   1,
                   1,
                   CASE_OK,
                   NULL,
                   {{"train", 9e6},
                    {"gather", 1e3},
                    {"forward", 20e3},
                    {"loss", 4e3},
                    {"backward_data", 10e3},
                    {"sgd", 5e3}}},
                  {"cuda",
                   "03_tensor_cores",
                   128,
                   1,
                   1,
                   CASE_OK,
                   NULL,
                   {{"forward_0", 2e3}, {"backward_0", 6e3}}},
                  {"cuda", "05_persistent", 128, 1, 1, CASE_OK, NULL, {{"fused", 8e3}}},
                  {"cuda", "03_tensor_cores", 8192, 1, 1, CASE_OK, NULL, {{"forward_0", 99e3}}},
                  {"cuda", "05_persistent", 8192, 1, 1, CASE_SKIPPED, NULL, {{NULL, 0}}});
    chart_t chart = {0};
    assert_drawn(chart_operations(world->data, &chart));
    const char *table = table_of(&chart);
    assert_has(table, " \"1.000\" 0 0\n");
    assert_has(table, " \"20.0\" 1 0\n");
    assert_has(table, " 10 NaN NaN \"10.00\" 3 0\n"); /* backward_data */
    assert_has(table, " 5 NaN NaN \"5.00\" 4 0\n");   /* sgd */
    assert_has(table, " 40 \"Σ 40.0\" ");
    assert_true(text_list_has(&chart.numbers, "used='0 1 2 3 4 5'"));
    chart_free(&chart);
}

static void whole_trainings_have_no_stages(void **state) {
    world_t *world = *state;
    LOAD_NETWORKS(world, {"cuda", "05_persistent", 128, 1, 5000, CASE_OK, LOSS(2, 1), STEP(8)});
    chart_t chart = {0};
    char *why = chart_operations(world->data, &chart);
    assert_string_equal(why, "no case has separately timed operations");
    free(why);
}

/* Its own tolerance is four times as large: what it gains is not gained by the same rules. */
static void sums_in_half_decide_nothing(void **state) {
    const network_t network = {"cuda", "05_persistent", 128, 1, 5000, CASE_OK, NULL, {{NULL, 0}}};
    case_t spec = network_case(&network);
    assert_false(is_rougher(&spec));
    case_add_technique(&spec, "accumulate", "f32");
    assert_false(is_rougher(&spec));
    case_free(&spec);
    spec = network_case(&network);
    case_add_technique(&spec, "accumulate", "f16");
    assert_true(is_rougher(&spec));
    case_free(&spec);
}

/* ---- What gains by larger errors, or by another algorithm, is shown and never is the fastest. */

static const char PHASE[] = "step";

/* A network whose step takes `us`; the accumulator's type is one of its techniques. */
static void append_network(const char *folder, const char *variant, const char *accumulate,
                           const char *results, double us) {
    const network_t network = {.engine = "cuda",
                               .variant = variant,
                               .hidden = 128,
                               .seed = 1,
                               .steps = 5000,
                               .status = CASE_OK,
                               .results = results,
                               .phases = {{PHASE, us * 1e3}, {"total", 1e9}}};
    case_result_t result = network_result(&network);
    char *longer = mem_format("%s/accumulate=%s", result.spec.id, accumulate);
    free(result.spec.id);
    result.spec.id = longer;
    case_add_technique(&result.spec, "accumulate", accumulate);
    append_result(folder, &result);
    result_free(&result);
}

static void the_fastest_keeps_to_the_rules(void **state) {
    world_t *world = *state;
    write_header(world->run, "Some GPU");
    append_network(world->run, "04_slow", "f32", NULL, 20);
    append_network(world->run, "05_persistent", "f32", NULL, 10);
    append_network(world->run, "05_persistent", "f16", NULL, 5);
    append_network(world->run, "06_other", "f32", "{\"algorithmic\":true}", 1);
    load_run(world);
    comparison_set_list_t sets = comparison_sets_of(&world->source.run, "mnist_train");
    assert_int_equal(sets.n, 1);
    assert_int_equal(sets.items[0].n_rows, 1);
    assert_string_equal(sets.items[0].phase, PHASE);
    const case_result_t *best = sets.items[0].rows[0].best;
    assert_non_null(best);
    assert_string_equal(best->spec.variant, "05_persistent");
    assert_string_equal(case_technique(&best->spec, "accumulate"), "f32");
    assert_int_equal(world->data->n_series, 4); /* all are shown */
    const series_t *fastest = plot_fastest_series(world->data, "cuda", PHASE);
    assert_non_null(fastest);
    assert_ptr_equal(series_at(fastest, 128), best);
    comparison_set_list_free(&sets);
}

#define SET_UP set_up
#define TEAR_DOWN tear_down
#include "run_tests.h"
