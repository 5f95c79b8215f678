/* stats/summary: known values. */
#include "../tools/noise.h"
#include "checks.h"
#include "stats/passes.h"

#include <stdio.h>

static void sorting(void **state) {
    double values[] = {3, NAN, -1, INFINITY, 2, NAN, -INFINITY, 2};
    stats_sort(values, 8);
    const double expected[] = {-INFINITY, -1, 2, 2, 3, INFINITY};
    assert_memory_equal(values, expected, sizeof expected);
    assert_true(isnan(values[6]) && isnan(values[7]));
    stats_sort(NULL, 0);
}

static void quantiles(void **state) {
    static const double five[] = {1, 2, 4, 8, 16}, four[] = {1, 2, 4, 8}, one[] = {7};
    static const double edge[] = {1, 2, INFINITY};
    static const struct { /* as numpy.quantile gives them */
        const double *sorted;
        size_t n;
        double q, expected;
    } rows[] = {
        {five, 5, 0, 1},       {five, 5, 0.25, 2},    {five, 5, 0.5, 4},      {five, 5, 0.75, 8},
        {five, 5, 1, 16},      {five, 5, 0.95, 14.4}, {five, 5, 0.1, 1.4},    {four, 4, 0.5, 3},
        {four, 4, 0.25, 1.75}, {four, 4, 0.99, 7.88}, {one, 1, 0, 7},         {one, 1, 0.3, 7},
        {one, 1, 1, 7},        {edge, 3, 0.5, 2},     {edge, 3, 1, INFINITY},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double got = stats_quantile(rows[i].sorted, rows[i].n, rows[i].q);
        if (got != rows[i].expected && !(fabs(got - rows[i].expected) < 1e-12))
            fail_msg("row %zu: %.17g, expected %.17g", i, got, rows[i].expected);
    }
    assert_true(isnan(stats_quantile(NULL, 0, 0.5)));
}

static void deviations(void **state) {
    static const double values[] = {1, 1, 2, 2, 4, 6, 9}; /* median 2, deviations 0 0 1 1 2 4 7 */
    assert_true(stats_mad(values, 7) == 1);
    assert_true(stats_mad(values, 2) == 0);
    assert_true(isnan(stats_mad(NULL, 0)));
}

static void medians(void **state) {
    const double values[] = {9, 1, 6, 2, 4};
    assert_true(stats_median(values, 5) == 4);
    assert_true(stats_median(values, 4) == 4); /* between 2 and 6 */
    assert_true(values[0] == 9);
    assert_true(isnan(stats_median(NULL, 0)));
}

static double tick_of(const double *values, size_t n) {
    double sorted[64];
    memcpy(sorted, values, n * sizeof *sorted);
    stats_sort(sorted, n);
    return stats_tick(sorted, n);
}

/* A tick is a value that returns: at least twice, and in a tenth of the samples. */
static void ticks(void **state) {
    assert_true(tick_of((double[]){10, 12, 14, 12, 10}, 5) == 2);
    assert_true(tick_of((double[]){10, 10, 16, 16, 12}, 5) == 2); /* once on a tick is on it too */
    assert_true(tick_of((double[]){10, 10, 10, 10, 10.4}, 5) == 0); /* one late time */
    assert_true(tick_of((double[]){10, 10, 10}, 3) == 0);
    assert_true(tick_of((double[]){10, 11, 12.5}, 3) == 0);
    assert_true(stats_tick(NULL, 0) == 0);
    double many[40];
    for (size_t i = 0; i < 40; i++)
        many[i] = 100 + 1.5 * (double)i;
    many[1] = many[0];
    many[3] = many[2];
    assert_true(tick_of(many, 40) == 0); /* twice by chance */
    for (size_t i = 0; i < 8; i++)
        many[i] = i < 4 ? 100 : 101;
    assert_true(tick_of(many, 40) == 1);
}

/* ---- stats/passes: one number a pass, and the interval over passes. */

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

/* ---- stats/bimodal: the five conditions, and false alarms on noise with one value. */

enum { PASSES = 6, ROUNDS = 8, N = PASSES * ROUNDS };
static const size_t STARTS[] = {0, 8, 16, 24, 32, 40, 48};

/* The first `n_high` of each pass's rounds are at `high`, the others at `low`; 1 % apart at most.
 */
static bimodal_t of_groups(const size_t n_high[PASSES], double low, double high) {
    double medians[N];
    for (size_t p = 0; p < PASSES; p++)
        for (size_t r = 0; r < ROUNDS; r++)
            medians[p * ROUNDS + r] =
                (r < n_high[p] ? high : low) * (1 + 0.001 * (double)((p + 3 * r) % 7));
    return bimodal_of(medians, STARTS, PASSES, 0);
}

static void two_groups(void **state) {
    const size_t n_high[PASSES] = {2, 4, 0, 8, 3, 1};
    bimodal_t found = of_groups(n_high, 9, 17);
    assert_true(found.found);
    assert_true(found.low >= 9 && found.low < 9.1);
    assert_true(found.high >= 17 && found.high < 17.2);
    assert_true(fabs(found.share_high - 18.0 / 48) < 1e-9);
}

static void conditions(void **state) {
    const size_t rare[PASSES] = {2, 1, 1, 1, 2, 2}; /* 9 of 48 are under 20 % */
    assert_false(of_groups(rare, 9, 17).found);
    const size_t enough[PASSES] = {2, 2, 1, 1, 2, 2};
    assert_true(of_groups(enough, 9, 17).found);
    assert_false(of_groups(enough, 9, 9.4).found);          /* under 5 % apart */
    const size_t of_processes[PASSES] = {8, 8, 0, 0, 0, 3}; /* both in one pass alone */
    assert_false(of_groups(of_processes, 9, 17).found);
    const size_t in_two[PASSES] = {8, 8, 0, 0, 3, 3};
    assert_true(of_groups(in_two, 9, 17).found);
    double few[BIMODAL_FEWEST_ROUNDS];
    for (size_t i = 0; i < BIMODAL_FEWEST_ROUNDS; i++)
        few[i] = i % 2 == 0 ? 9 : 17;
    const size_t starts[] = {0, 20, 39}, all[] = {0, 20, 40};
    assert_false(bimodal_of(few, starts, 2, 0).found);
    assert_true(bimodal_of(few, all, 2, 0).found);
    assert_false(bimodal_of(few, all, 0, 0).found);
}

/* Two values of a clock that has only few are no two states. */
static void ticks_apart(void **state) {
    double medians[N];
    for (size_t i = 0; i < N; i++)
        medians[i] = i % 2 == 0 ? 10 : 16;
    assert_true(bimodal_of(medians, STARTS, PASSES, 1.99).found);
    assert_false(bimodal_of(medians, STARTS, PASSES, 2.01).found);
}

static void something_between(void **state) {
    double medians[N];
    for (size_t i = 0; i < N; i++)
        medians[i] = i % 2 == 0 ? 9 : 17;
    assert_true(bimodal_of(medians, STARTS, PASSES, 0).found);
    for (size_t i = 0; i < 3; i++)
        medians[i * 11] = 12.4; /* 3 of 48 are over 5 % */
    assert_false(bimodal_of(medians, STARTS, PASSES, 0).found);
}

typedef double draw_t(source_t *source);

static double exponential(source_t *source) {
    return -log(uniform(source));
}
static double student3(source_t *source) {
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        const double x = normal(source);
        sum += x * x;
    }
    return normal(source) / sqrt(sum / 3);
}
static double cauchy(source_t *source) {
    return tan(PI * (uniform(source) - 0.5));
}

/* At most 1 % of runs whose rounds have one value are called bimodal. */
static void false_alarms(void **state) {
    static const struct {
        const char *name;
        draw_t *draw;
    } KINDS[] = {{"normal", normal},
                 {"t with 3 df", student3},
                 {"Cauchy", cauchy},
                 {"exponential", exponential},
                 {"uniform", uniform}};
    enum { RUNS = 2000 };
    for (size_t k = 0; k < COUNT_OF(KINDS); k++) {
        source_t source = source_of(k + 1);
        size_t alarms = 0;
        for (size_t run = 0; run < RUNS; run++) {
            double medians[N];
            for (size_t p = 0; p < PASSES; p++) {
                const double process = 0.03 * normal(&source);
                for (size_t r = 0; r < ROUNDS; r++)
                    medians[p * ROUNDS + r] = exp(process + 0.05 * KINDS[k].draw(&source));
            }
            alarms += bimodal_of(medians, STARTS, PASSES, 0).found;
        }
        printf("%s: %.2f %% called bimodal\n", KINDS[k].name, 100.0 * (double)alarms / RUNS);
        assert_true(alarms <= RUNS / 100);
    }
}

#include "run_tests.h"
