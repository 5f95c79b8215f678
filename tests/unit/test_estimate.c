/* The time that a run still takes, from made-up times. */
#include "checks.h"
#include "stats/estimate.h"

static void expect_left(const estimate_t *e, double now_s, bool is_more, double s) {
    const time_left_t left = estimate_left(e, now_s);
    assert_int_equal(left.is_more, is_more);
    assert_float_equal(left.s, s, 1e-9);
}

static void test_what_was_never_seen_makes_it_a_least(void **state) {
    estimate_t e = estimate_make();
    estimate_expect(&e, STEP_OPEN, "pytorch-cpu", 3);
    estimate_expect(&e, STEP_MEASURE, "", 3);
    expect_left(&e, 0, true, 0);
    estimate_begin(&e, STEP_OPEN, "pytorch-cpu", 1, 0);
    expect_left(&e, 31, true, 0);
    estimate_begin(&e, STEP_OPEN, "pytorch-cpu", 1, 31);
    expect_left(&e, 31, true, 62); /* two more like the first, and the rounds */
    expect_left(&e, 41, true, 52);
    estimate_free(&e);
}

/* 14 contenders, of which one engine compiles: its first says what the others take. */
static void test_what_is_still_to_be_opened_counts_by_its_engine(void **state) {
    estimate_t e = estimate_make();
    estimate_expect(&e, STEP_OPEN, "cuda", 10);
    estimate_expect(&e, STEP_OPEN, "pytorch-cuda", 4);
    double now_s = 0;
    for (int i = 0; i < 10; i++, now_s += 0.5)
        estimate_begin(&e, STEP_OPEN, "cuda", 1, now_s);
    estimate_begin(&e, STEP_OPEN, "pytorch-cuda", 1, now_s);
    expect_left(&e, now_s, true, 0); /* not 10 × 0.5 s / 10 × 4 */
    now_s += 8;
    estimate_begin(&e, STEP_OPEN, "pytorch-cuda", 1, now_s);
    expect_left(&e, now_s, false, 24);
    estimate_free(&e);
}

static void test_rounds_count_by_their_own_limits_until_others_are_done(void **state) {
    estimate_t e = estimate_make();
    estimate_expect(&e, STEP_MEASURE, "", 8);
    estimate_begin(&e, STEP_MEASURE, "", 4, 100);
    expect_left(&e, 100, true, 0);
    estimate_know(&e, 2, 10);
    expect_left(&e, 102, false, 10 + 4 * 12 / 4.0); /* the next four take as long */
    estimate_begin(&e, STEP_MEASURE, "", 4, 106);
    expect_left(&e, 106, false, 6);
    estimate_know(&e, 9, 20); /* more rounds than the mean has time for are certain */
    expect_left(&e, 106, false, 9);
    expect_left(&e, 113, false, 20); /* longer than those before */
    estimate_free(&e);
}

static void test_what_takes_longer_than_before_is_not_0_s(void **state) {
    estimate_t e = estimate_make();
    estimate_expect(&e, STEP_REFERENCE, "", 3);
    estimate_begin(&e, STEP_REFERENCE, "", 1, 0);
    estimate_begin(&e, STEP_REFERENCE, "", 1, 2);
    expect_left(&e, 3, false, 3);
    expect_left(&e, 9, true, 2);
    estimate_free(&e);
}

static void test_a_workers_start_is_no_time_of_the_step(void **state) {
    estimate_t e = estimate_make();
    estimate_expect(&e, STEP_START, "", 2);
    estimate_expect(&e, STEP_OPEN, "jax-cpu", 4);
    estimate_begin(&e, STEP_START, "", 1, 0); /* of the first pass: no worker runs */
    estimate_begin(&e, STEP_OPEN, "jax-cpu", 1, 0);
    estimate_starts(&e, true, 1);
    estimate_starts(&e, true, 3);
    estimate_starts(&e, false, 6);
    estimate_begin(&e, STEP_OPEN, "jax-cpu", 1, 8);
    expect_left(&e, 8, false, 3 * 3 + 5); /* and the processes of the second pass */
    estimate_starts(&e, true, 9);
    expect_left(&e, 50, false, 2 + 2 * 3 + 5);
    estimate_free(&e);
}

static void test_later_passes_take_as_long_as_the_first_until_one_is_known(void **state) {
    estimate_t e = estimate_make();
    estimate_expect(&e, STEP_OPEN, "pytorch-cpu", 1);
    estimate_expect(&e, STEP_REOPEN, "pytorch-cpu", 3);
    estimate_begin(&e, STEP_OPEN, "pytorch-cpu", 1, 0);
    estimate_end(&e, 30);
    expect_left(&e, 30, false, 90);
    estimate_begin(&e, STEP_REOPEN, "pytorch-cpu", 1, 40);
    estimate_end(&e, 41);
    expect_left(&e, 41, false, 2);
    estimate_skip(&e, STEP_REOPEN, "pytorch-cpu", 5);
    expect_left(&e, 41, false, 0);
    estimate_free(&e);
}

static void test_more_steps_may_come_than_are_expected(void **state) {
    estimate_t e = estimate_make();
    estimate_expect(&e, STEP_MEASURE, "", 2);
    estimate_begin(&e, STEP_MEASURE, "", 1, 0);
    estimate_end(&e, 10);
    e.is_open = true;
    expect_left(&e, 10, true, 10);
    e.is_open = false;
    expect_left(&e, 10, false, 10);
    estimate_free(&e);
}

static void test_a_step_of_no_kind_teaches_nothing(void **state) {
    estimate_t e = estimate_make();
    estimate_begin(&e, STEP_OTHER, "", 1, 0);
    estimate_begin(&e, STEP_OTHER, "", 1, 60);
    expect_left(&e, 61, true, 0);
    estimate_know(&e, 12, 12);
    expect_left(&e, 61, false, 12);
    estimate_free(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_never_seen_makes_it_a_least),
        cmocka_unit_test(test_what_is_still_to_be_opened_counts_by_its_engine),
        cmocka_unit_test(test_rounds_count_by_their_own_limits_until_others_are_done),
        cmocka_unit_test(test_what_takes_longer_than_before_is_not_0_s),
        cmocka_unit_test(test_a_workers_start_is_no_time_of_the_step),
        cmocka_unit_test(test_later_passes_take_as_long_as_the_first_until_one_is_known),
        cmocka_unit_test(test_more_steps_may_come_than_are_expected),
        cmocka_unit_test(test_a_step_of_no_kind_teaches_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
