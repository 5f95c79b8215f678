/* stats/summary: known values. */
#include "checks.h"
#include "stats/passes.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorting), cmocka_unit_test(quantiles), cmocka_unit_test(deviations),
        cmocka_unit_test(medians), cmocka_unit_test(ticks),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
