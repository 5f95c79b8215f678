/* Losses over a training: which size is shown, what the others are held against, and what is said
 * about how far they are from it. */
#include "analysis/learning.h"
#include "checks.h"
#include "planted_training.h"

#define TRAIN                                                                                      \
    {                                                                                              \
        { "train", 1e6 }                                                                           \
    }

static case_result_t with_results(const char *json) {
    AUTO(case_free) case_t spec = {.id = mem_text("w/e/v"), .engine = mem_text("cpu")};
    case_result_t result;
    result_init(&result, &spec);
    result.results_json = mem_text(json);
    return result;
}

static void curves_are_read_from_results(void **state) {
    AUTO(result_free)
    case_result_t result = with_results("{\"loss\": [[0, 4], [10, 2.5], [20, 1]], \"w\": 3}");
    AUTO(curve_free) curve_t curve = curve_of(&result, "loss");
    assert_int_equal(curve.n, 3);
    assert_true(curve_at(&curve, 10) == 2.5 && curve_at(&curve, 20) == 1);
    assert_true(isnan(curve_at(&curve, 15)) && isnan(curve_at(&curve, 30)));
    AUTO(curve_free) curve_t none = curve_of(&result, "accuracy");
    assert_int_equal(none.n, 0);
    curve_free(&curve);
    result.status = CASE_WRONG;
    curve = curve_of(&result, "loss");
    assert_int_equal(curve.n, 0);
}

/* As far as it can be followed: anybody may have written the file. */
static void what_is_no_curve_ends_it(void **state) {
    static const struct {
        const char *json;
        size_t n;
    } CASES[] = {
        {"{\"loss\": 3}", 0},
        {"{\"loss\": [[0, 1], [10, null], [20, 1]]}", 1},
        {"{\"loss\": [[0, 1], [10]]}", 1},
        {"{\"loss\": [[0, 1], [10, 1], [10, 2]]}", 2},
        {"{\"loss\": [\"a\", 1]}", 0},
        {"[1]", 0},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO(result_free) case_result_t result = with_results(CASES[i].json);
        AUTO(curve_free) curve_t curve = curve_of(&result, "loss");
        assert_int_equal(curve.n, CASES[i].n);
    }
}

static void differences_are_relative(void **state) {
    curve_t curve = {(double[]){0, 5, 10, 20}, (double[]){2.2, 7, 0.9, 3}, 4};
    curve_t reference = {(double[]){0, 10, 20}, (double[]){2, 1, 0}, 3};
    assert_true(fabs(curve_difference(&curve, 0, &reference) - 0.1) < 1e-12);
    assert_true(isnan(curve_difference(&curve, 1, &reference))); /* kept by one of them */
    assert_true(fabs(curve_difference(&curve, 2, &reference) - 0.1) < 1e-12);
    assert_true(isnan(curve_difference(&curve, 3, &reference))); /* nothing to be relative to */
}

static void losses_are_held_against_the_oracle(void **state) {
    world_t *world = LOAD_TRAININGS(
        *state,
        {"cuda", "cuda", "05_graph", 5000, 200, CASE_OK, "{\"loss\": [[0, 5], [10, 1.5]]}", TRAIN},
        {"cuda", "cuda", "05_graph", 50000, 200, CASE_OK, "{\"loss\": [[0, 4], [10, 2]]}", TRAIN},
        {"cuda", "cuda", "06_wrong", 50000, 200, CASE_WRONG, "{\"loss\": [[0, 99], [10, 9]]}",
         TRAIN},
        {"pytorch", "cuda", "eager", 50000, 200, CASE_OK, "{\"loss\": [[0, 4], [10, 2.000002]]}",
         TRAIN},
        {"cpu", "cpu", "ref", 50000, 200, CASE_OK, "{\"loss\": [[0, 4], [10, 2]]}", TRAIN},
        {"cuda", "cuda", "05_graph", 500000, 200, CASE_OK, "{\"loss\": [[0, 7], [10, 2]]}", TRAIN});
    const char *table = drawn(world, chart_loss);
    assert_has(table, "step \"CUDA 05_graph (equal)\" difference mark\n0 4 0 1\n10 2 0 0\n");
    assert_has(table,
               "step \"PyTorch eager (1.0e-6)\" difference mark\n0 4 0 0\n10 2.000002 1e-06");
    assert_has(table, "\"C on the CPU, ref: the reference\" difference mark\n0 4 NaN");
    assert_lacks(table, "99");
    assert_has(world->chart.note, "points 50 k");
    assert_has(world->chart.note, "reference: C on the CPU, ref, in float64");
    assert_true(text_list_has(&world->chart.numbers, "any_equal=1"));
    assert_true(text_list_has(&world->chart.numbers, "in_epochs=1"));
    assert_true(text_list_has(&world->chart.numbers, "last_step=10"));
}

static void without_an_oracle_nothing_is_in_float64(void **state) {
    world_t *world = LOAD_TRAININGS(
        *state,
        {"cuda", "cuda", "05_graph", 5000, 200, CASE_OK, "{\"loss\": [[0, 4], [10, 2]]}", TRAIN},
        {"pytorch", "cuda", "eager", 5000, 200, CASE_OK, "{\"loss\": [[0, 4], [10, 2.2]]}", TRAIN},
        {"pytorch", "cpu", "eager", 5000, 200, CASE_OK, "{\"loss\": [[0, 4], [10, 2.5]]}", TRAIN},
        {"cpu", "cpu", "ref", 5000, 200, CASE_OK, NULL, TRAIN});
    const char *table = drawn(world, chart_loss);
    assert_true(text_ends(world->chart.note, "reference: PyTorch on the CPU, eager"));
    assert_has(table, "\"CUDA 05_graph (2.0e-1)\"");
}

/* What comes behind a fall by far is drawn a second time. */
static void a_steep_start_gets_an_inset(void **state) {
    world_t *world = LOAD_TRAININGS(
        *state, {"cpu", "cpu", "ref", 5000, 200, CASE_OK,
                 "{\"loss\": [[0, 48], [10, 0.0819], [20, 0.0815], [30, 0.0814]]}", TRAIN});
    drawn(world, chart_loss);
    assert_true(text_list_has(&world->chart.numbers, "inset=1"));
    assert_true(text_list_has(&world->chart.numbers, "inset_from=10"));
}

/* A picture is some hundred pixels wide. */
static void of_a_long_curve_some_points_are_drawn(void **state) {
    world_t *world = *state;
    AUTO(text_list_free) text_list_t points = {0};
    for (int i = 0; i < 1000; i++)
        text_list_add_format(&points, "[%d, 1]", i);
    AUTO_FREE char *list = text_list_join(&points, ","),
                   *results = mem_format("{\"loss\": [%s]}", list);
    LOAD_TRAININGS(world, {"cpu", "cpu", "ref", 5000, 200, CASE_OK, results, TRAIN});
    const char *table = drawn(world, chart_loss);
    assert_has(table, "\n0 1 NaN 1\n7 1 NaN 0\n14 1 NaN 0\n");
    assert_has(table, "\n994 1 NaN 0\n999 1 NaN 0\n");
}

static void without_a_curve_of_two_steps_there_is_no_chart(void **state) {
    world_t *world = LOAD_TRAININGS(
        *state, {"cpu", "cpu", "ref", 5000, 200, CASE_OK, "{\"w\": 2}", TRAIN},
        {"cuda", "cuda", "02_fused", 5000, 200, CASE_OK, "{\"loss\": [[0, 5]]}", TRAIN});
    not_drawn(world, chart_loss, "no case recorded its loss over the training");
}

#define SET_UP set_up
#define TEAR_DOWN tear_down
#include "run_tests.h"
