/* stats/passes: one number a pass, and the interval over passes. */
#include "checks.h"
#include "stats/passes.h"

static stats_interval_t interval(const double *medians, size_t n, double variance_log) {
    stats_pass_t passes[STATS_MOST_PASSES];
    for (size_t i = 0; i < n; i++)
        passes[i] = (stats_pass_t){.log_value = log(medians[i]), .variance_log = variance_log};
    return stats_interval_of(passes, n);
}

static void pass_of_rounds(void **state) {
    const double values[] = {10, 12, 11, 21, 20, 22};
    const size_t starts[] = {0, 3, 6};
    stats_pass_t pass = stats_pass_of(&(stats_rounds_t){values, starts, 2});
    assert_near(exp(pass.log_value), 16, 1e-9); /* of all samples: between 12 and 20 */
    const double half = log(21.0 / 11) / 2;
    assert_near(pass.variance_log, acos(-1) / 2 * (2 * half * half) / 2, 1e-12);
    pass = stats_pass_of(&(stats_rounds_t){values, starts, 1});
    assert_near(exp(pass.log_value), 11, 1e-9);
    assert_near(pass.variance_log, 0, 1e-12);
    pass = stats_pass_of(&(stats_rounds_t){values, starts, 0});
    assert_true(isnan(pass.log_value));
}

/* A round that an interruption ends counts with its share of the samples. */
static void round_of_one_sample(void **state) {
    const double values[] = {10, 10, 10, 4000, 10, 10, 10};
    const size_t starts[] = {0, 3, 4, 7};
    const stats_pass_t pass = stats_pass_of(&(stats_rounds_t){values, starts, 3});
    const double far = log(400), mean = far / 7;
    const double sum = 2 * pow(3.0 / 7 * mean, 2) + pow((far - mean) / 7, 2);
    assert_near(exp(pass.log_value), 10, 1e-9);
    assert_near(pass.variance_log, acos(-1) / 2 * sum * 3 / 2, 1e-12);
}

/* One round on a clock with steps of 2: their error alone. */
static void pass_of_coarse_clock(void **state) {
    const double values[] = {10, 12, 10, 10, 12, 12, 10};
    const size_t starts[] = {0, 7};
    const stats_pass_t pass = stats_pass_of(&(stats_rounds_t){values, starts, 1});
    assert_near(exp(pass.log_value), 10, 1e-9);
    assert_near(pass.variance_log, 0.2 * 0.2 / 12, 1e-12);
}

static void ratio_of_passes(void **state) {
    const stats_pass_t a = {log(30), 0.01, 0}, b = {log(10), 0.02, STATS_SHARED},
                       none = {NAN, 0, 0};
    stats_pass_t ratio = stats_pass_ratio(&a, &b);
    assert_near(exp(ratio.log_value), 3, 1e-9);
    assert_near(ratio.variance_log, 0.03, 1e-12);
    assert_near(ratio.shared, STATS_SHARED, 1e-9);
    ratio = stats_pass_ratio(&a, &none);
    assert_true(isnan(ratio.log_value));
}

static void few_passes_have_no_interval(void **state) {
    const double medians[] = {10, 10, 10, 10};
    for (size_t n = 1; n < STATS_FEWEST_PASSES; n++) {
        stats_interval_t found = interval(medians, n, 0);
        assert_near(found.centre, 10, 1e-9);
        assert_true(isnan(found.low) && isnan(found.high));
        assert_int_equal(found.n_passes, n);
    }
    assert_true(isnan(interval(medians, 0, 0).centre));
}

/* Six of seven processes that were measured on an H200. */
static void six_passes(void **state) {
    const double medians[] = {44.7, 43.3, 51.0, 43.9, 49.6, 49.7};
    stats_interval_t found = interval(medians, 6, 0);
    assert_near(found.centre, sqrt(43.3 * 51.0), 1e-9); /* the 11th of 21 averages */
    double mean = 0, sum = 0;
    for (int i = 0; i < 6; i++)
        mean += log(medians[i]) / 6;
    for (int i = 0; i < 6; i++)
        sum += pow(log(medians[i]) - mean, 2);
    const double half = 2.570581836 * sqrt(sum / 5 / 6);
    assert_true(fabs(found.low - fmin(exp(mean - half), 43.3)) < 1e-6);
    assert_true(fabs(found.high - fmax(exp(mean + half), 51.0)) < 1e-6);
}

/* Averages that the signed-rank interval leaves out at each end: 0 with 5 and 6 passes, 2 with 7,
 * 3 with 8 (Hollander & Wolfe, A.4). In each row its end lies beyond that of Student's t. */
static void averages_that_are_left_out(void **state) {
    static const struct {
        size_t n;
        double logs[8], low, high; /* NaN: the end of Student's t */
    } ROWS[] = {{5, {0, 1, 1, 1, 1}, 0, NAN},
                {6, {0, 1, 1, 1, 1, 1}, 0, NAN},
                {7, {-1.25, -1.1, -1, 0, 1, 1.1, 1.25}, -1.125, 1.125},
                {8, {-1.25, -1.1, -1, -0.9, 0.9, 1, 1.1, 1.25}, -1.1, 1.1}};
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        stats_pass_t passes[8];
        for (size_t p = 0; p < ROWS[i].n; p++)
            passes[p] = (stats_pass_t){.log_value = ROWS[i].logs[p]};
        stats_interval_t found = stats_interval_of(passes, ROWS[i].n);
        assert_true(fabs(log(found.low) - ROWS[i].low) < 1e-9);
        if (!isnan(ROWS[i].high))
            assert_true(fabs(log(found.high) - ROWS[i].high) < 1e-9);
    }
}

/* Student's t counts what passes share once for all of them. */
static void shared_variance_widens(void **state) {
    const double medians[] = {10, 10.1, 10.2, 10.3, 10.4, 10.5};
    stats_pass_t passes[6];
    for (size_t i = 0; i < 6; i++)
        passes[i] = (stats_pass_t){.log_value = log(medians[i])};
    const stats_interval_t alone = stats_interval_of(passes, 6);
    passes[5].shared = STATS_SHARED;
    const stats_interval_t found = stats_interval_of(passes, 6);
    assert_near(found.centre, alone.centre, 1e-9);
    assert_near(found.se_log, alone.se_log * sqrt(1 + 6 * STATS_SHARED), 1e-12);
    assert_true(found.low < alone.low && found.high > alone.high);
}

/* Passes that agree by luck are not surer than their own rounds make them. */
static void own_error_of_passes_counts(void **state) {
    const double medians[] = {10, 10, 10, 10, 10, 10};
    stats_interval_t found = interval(medians, 6, 0);
    assert_near(found.low, 10, 1e-9);
    assert_near(found.high, 10, 1e-9);
    found = interval(medians, 6, 0.0006);
    assert_true(fabs(log(found.high / 10) - 2.570581836 * 0.01) < 1e-6);
}

static void passes_without_value_do_not_count(void **state) {
    stats_pass_t passes[8];
    for (int i = 0; i < 8; i++)
        passes[i] = (stats_pass_t){.log_value = i < 4 ? log(10 + i) : NAN};
    stats_interval_t found = stats_interval_of(passes, 8);
    assert_int_equal(found.n_passes, 4);
    assert_true(isnan(found.low));
}

/* ---- an open number of passes ---- */

static const stats_aim_t AIM = {.half_width = 0.02, .fewest = 5, .most = 12};

/* After how many passes, `spread` above and below 1 in turn. */
static size_t enough_after(double spread, double shared, const stats_aim_t *aim) {
    stats_pass_t passes[STATS_MOST_PASSES];
    for (size_t i = 0; i < STATS_MOST_PASSES; i++)
        passes[i] = (stats_pass_t){.log_value = i % 2 == 0 ? spread : -spread, .shared = shared};
    size_t n = 0;
    while (!stats_has_enough(passes, n, aim))
        n++;
    return n;
}

/* With 5 passes ±2.776 · 1.095 · spread / √5, with 6 ±2.571 · 1.095 · spread / √6, or the extremes. */
static void precise_passes_are_enough(void **state) {
    assert_int_equal(enough_after(0, 0, &AIM), 5);
    assert_int_equal(enough_after(0.007, 0, &AIM), 5);
    assert_int_equal(enough_after(0.0075, 0, &AIM), 6); /* 5 must be twice as precise */
    assert_int_equal(enough_after(0.017, 0, &AIM), 6);
    assert_int_equal(enough_after(0.018, 0, &AIM), 7);
}

static void passes_that_would_not_help_are_not_taken(void **state) {
    assert_int_equal(enough_after(0.1, 0, &AIM), 6);
    assert_int_equal(enough_after(0.1, STATS_SHARED, &AIM), 6);
    assert_int_equal(enough_after(0.012, STATS_SHARED, &AIM), 9); /* they do */
    assert_int_equal(enough_after(0.0125, STATS_SHARED, &AIM), 10);
    assert_int_equal(enough_after(0.013, STATS_SHARED, &AIM), 6);
}

static void the_least_and_the_most_hold(void **state) {
    assert_int_equal(enough_after(0, 0, &(stats_aim_t){0.02, 8, 12}), 8);
    assert_int_equal(enough_after(0.1, 0, &(stats_aim_t){0.02, 8, 12}), 8);
    assert_int_equal(enough_after(0.1, 0, &(stats_aim_t){0.02, 3, 3}), 3);
    assert_int_equal(enough_after(0.0118, STATS_SHARED, &(stats_aim_t){0.02, 5, 7}), 6);
    assert_int_equal(enough_after((double)NAN, 0, &AIM), 5); /* a clock with coarse steps */
}

/* A ninth of the variance between the passes is the most that rounds may leave. */
static void rounds_matter_beside_the_spread(void **state) {
    const stats_pass_t before[] = {{.log_value = 0.03}, {.log_value = -0.03}, {.log_value = NAN}};
    const double between = stats_variance_between(before, 3);
    assert_near(between, 2 * 0.03 * 0.03, 1e-12);
    assert_true(isnan(stats_variance_between(before, 1)));
    assert_true(stats_spread_dominates(&(stats_pass_t){.variance_log = between / 9.1}, between));
    assert_false(stats_spread_dominates(&(stats_pass_t){.variance_log = between / 8.9}, between));
    assert_false(stats_spread_dominates(&(stats_pass_t){.variance_log = 0}, NAN));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pass_of_rounds),
        cmocka_unit_test(round_of_one_sample),
        cmocka_unit_test(pass_of_coarse_clock),
        cmocka_unit_test(ratio_of_passes),
        cmocka_unit_test(few_passes_have_no_interval),
        cmocka_unit_test(six_passes),
        cmocka_unit_test(averages_that_are_left_out),
        cmocka_unit_test(own_error_of_passes_counts),
        cmocka_unit_test(shared_variance_widens),
        cmocka_unit_test(passes_without_value_do_not_count),
        cmocka_unit_test(precise_passes_are_enough),
        cmocka_unit_test(passes_that_would_not_help_are_not_taken),
        cmocka_unit_test(the_least_and_the_most_hold),
        cmocka_unit_test(rounds_matter_beside_the_spread),
    };
    return cmocka_run_group_tests_name("passes", tests, NULL, NULL);
}
