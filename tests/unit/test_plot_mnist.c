/* Charts of a training whose steps move all of its weights. */
#include "analysis/learning.h"
#include "analysis/speedup.h"
#include "checks.h"
#include "limits/limits.h"
#include "made_case.h"
#include "planted_mnist.h"

#define STEP(us)                                                                                   \
    {                                                                                              \
        {"step", (us)*1e3}, {"step_device", (us)*0.9e3}, {                                         \
            "total", 1e9                                                                           \
        }                                                                                          \
    }
#define LOSS(a, b) "{\"loss\": [[0, " #a "], [10, " #b "]], \"dataset\": \"mnist\"}"
#define LOSS_F16(a, b) "{\"loss\": [[0, " #a "], [10, " #b "]], \"weights\": \"f16\"}"
#define LOSS_F32(a, b) "{\"loss\": [[0, " #a "], [10, " #b "]], \"weights\": \"f32\"}"

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
    double ns = training_bound(bound, &spec, &RATES).ns;
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

/* 2 bytes of each weight forward, 4 backward and 4 written: 2.5 times 4. */
static void mixed_weights_are_moved_two_and_a_half_times(void **state) {
    case_t wide = case_of(8192);
    assert_true(isnan(training_bound(BOUND_KEPT, &wide, &DEVICE_RATES_UNKNOWN).ns));
    assert_true(training_bound(BOUND_WEIGHTS, &wide, &RATES).times == 3);
    set_text(&wide.dtype, "mixed");
    const lower_bound_t mixed = training_bound(BOUND_WEIGHTS, &wide, &RATES);
    assert_true(mixed.times == 2.5 && mixed.bytes == 2 * weights_bytes(8192));
    case_free(&wide);
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
    static chart_build_t *const BUILD[] = {chart_loss, chart_ladder};
    for (size_t i = 0; i < COUNT_OF(BUILD); i++) {
        chart_t chart = {0};
        assert_drawn(BUILD[i](world->data, &chart));
        assert_has(chart.note, "f16, dataset=synthetic");
        chart_free(&chart);
    }
}

/* ---- losses ---------------------------------------------------------------------------------- */

static void losses_are_those_of_the_first_seed(void **state) {
    world_t *world = *state;
    LOAD_NETWORKS(world, {"cuda", "05_persistent", 128, 1, 5000, CASE_OK, LOSS(2, 1), STEP(8)},
                  {"cuda", "05_persistent", 128, 2, 5000, CASE_OK, LOSS(4, 3), STEP(8)},
                  {"cuda", "06_wrong", 128, 1, 5000, CASE_WRONG, LOSS(99, 99), STEP(8)},
                  {"pytorch", "graph", 128, 1, 5000, CASE_OK, LOSS_F16(2, 1.25), STEP(90)},
                  {"pytorch", "graph", 128, 2, 5000, CASE_OK, LOSS_F16(4, 3), STEP(90)});
    chart_t chart = {0};
    assert_drawn(chart_loss(world->data, &chart));
    const char *table = table_of(&chart);
    assert_has(table, "\"CUDA 05_persistent: the reference\" difference mark\n0 2 NaN 1\n10 1 NaN");
    assert_has(table, "\"PyTorch graph (2.5e-1)\" difference mark\n0 2 0 0\n10 1.25 0.25");
    assert_lacks(table, "0 4 ");
    assert_lacks(table, "99");
    assert_has(chart.note,
               "mnist_train, batch 32, steps 5000, rate 0.003, seed 1, f16, hidden 128");
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
    assert_string_equal(why, "no case has separately timed parts");
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
