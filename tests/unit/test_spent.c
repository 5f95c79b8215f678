/* What the time of a run is spent on, on a clock of our own. */
#include "base/clock.h"
#include "checks.h"
#include "stats/estimate.h"

static int64_t now_ns = 1;

static int64_t made_up_now(void *context) {
    (void)context;
    return now_ns;
}

static spent_t spend(void) {
    spent_t spent = {0};
    clock_inject(made_up_now, NULL);
    assert_int_equal(spent_switch(&spent, SPENT_OPEN),
                     SPENT_OTHER); /* nothing was counted before */
    now_ns += 4000000000;
    assert_int_equal(spent_switch(&spent, SPENT_START), SPENT_OPEN);
    now_ns += 3000000000;
    assert_int_equal(spent_switch(&spent, SPENT_OPEN), SPENT_START);
    now_ns += 1000000000;
    assert_int_equal(spent_switch(&spent, SPENT_SAMPLES), SPENT_OPEN);
    now_ns += 2000000000;
    spent_switch(&spent, SPENT_OTHER);
    clock_inject(NULL, NULL);
    return spent;
}

static void each_moment_counts_once(void **state) {
    spent_t spent = spend();
    assert_true(spent.ns[SPENT_OPEN] == 5e9 && spent.ns[SPENT_START] == 3e9);
    assert_true(spent_total_ns(&spent) == 1e10 && spent_measured_frac(&spent) == 0.2);
}

static void what_moves_is_not_lost(void **state) {
    spent_t spent = spend();
    spent_move(&spent, SPENT_OPEN, SPENT_COMPILE, 1.5e9);
    spent_move(&spent, SPENT_START, SPENT_CONTEXT, 9e9); /* a worker may say what it likes */
    spent_move(&spent, SPENT_SAMPLES, SPENT_CONTEXT, NAN);
    spent_move(&spent, SPENT_SAMPLES, SPENT_CONTEXT, -1);
    assert_true(spent.ns[SPENT_OPEN] == 3.5e9 && spent.ns[SPENT_COMPILE] == 1.5e9);
    assert_true(spent.ns[SPENT_START] == 0 && spent.ns[SPENT_CONTEXT] == 3e9);
    assert_true(spent_total_ns(&spent) == 1e10);
    char *text = spent_text(&spent);
    assert_string_equal(text, "10.0 s, of these 20 % in samples and warm-up; open 3.50 s, context "
                              "3.00 s, compile 1.50 s");
    free(text);
}

static void nobody_needs_to_count(void **state) {
    assert_int_equal(spent_switch(NULL, SPENT_CHECK), SPENT_OTHER);
    spent_move(NULL, SPENT_CHECK, SPENT_OPEN, 1);
    assert_true(isnan(spent_measured_frac(&(spent_t){0})));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_moment_counts_once),
        cmocka_unit_test(what_moves_is_not_lost),
        cmocka_unit_test(nobody_needs_to_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
