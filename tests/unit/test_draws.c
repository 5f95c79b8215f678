/* Which of several compilations the passes run. */
#include "checks.h"
#include "model/result_json.h"
#include "run/state.h"
#include "timed_result.h"

#include <jansson.h>

/* A draw of a training, which is compared by its steps; NaN: it failed. */
static case_result_t make(unsigned draw, double total_ns, double step_ns) {
    const bool failed = isnan(total_ns);
    const timed_t times[] = {{failed ? NULL : "total", total_ns}, {"step", step_ns}, {NULL, 0}};
    case_result_t result = make_result("mnist_train", "pytorch", 128, times);
    result.status = failed ? CASE_FAILED : CASE_OK;
    result.pass = 0;
    result.draw = draw;
    return result;
}

static void the_phase_that_is_compared_chooses(void **state) {
    case_result_t draws[] = {make(1, NAN, NAN), make(2, 100, 7), make(3, 90, 8)};
    case_state_t chosen = {0};
    for (size_t i = 0; i < 3; i++)
        case_note_draw(&chosen, &draws[i]);
    assert_int_equal(chosen.drawn, 7);
    assert_int_equal(chosen.draw, 2);
    assert_true(chosen.draw_ns == 7);
    for (size_t i = 0; i < 3; i++)
        result_free(&draws[i]);
}

static void all_phases_of_a_draw_are_kept(void **state) {
    case_result_t draws[] = {make(1, NAN, NAN), make(3, 90, 8)}, joined = make(3, 91, 9);
    joined.pass = 1;
    result_add_draw(&joined, &draws[1]);
    result_add_draw(&joined, &draws[1]); /* a later line of the same draw */
    result_add_draw(&joined, &draws[0]);
    assert_int_equal(joined.n_draws, 3);
    assert_true(draw_median(&joined.draws[2], "step") == 8);
    assert_true(isnan(draw_median(&joined.draws[2], "kernel")));
    assert_true(isnan(draw_median(&joined.draws[1], "step")));
    json_t *json = result_to_json(&joined);
    json_t *draw = json_array_get(json_object_get(json, "draws"), 2);
    assert_true(json_number_value(json_object_get(draw, "median_ns")) == 90);
    assert_true(json_number_value(json_object_get(json_object_get(draw, "medians_ns"), "step")) ==
                8);
    json_decref(json);
    result_free(&joined);
    for (size_t i = 0; i < 2; i++)
        result_free(&draws[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_phase_that_is_compared_chooses),
        cmocka_unit_test(all_phases_of_a_draw_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
