/* stats/changepoints: known steps are found where they are, noise has none, and the pruned search
 * gives what trying every partition gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/changepoints.h"

#include <math.h>

enum { MOST = 128 };

static double normal(uint32_t stream, uint64_t *position) {
    static const double PI = 3.14159265358979323846;
    double a = (rng_word(7, stream, (*position)++) + 0.5) / 4294967296.0;
    double b = (rng_word(7, stream, (*position)++) + 0.5) / 4294967296.0;
    return sqrt(-2 * log(a)) * cos(2 * PI * b);
}

static void known_steps(void **state) {
    (void)state;
    static const double two[] = {1, 1.1, 0.9, 1, 5, 5.1, 4.9, 5, 1, 1.1, 0.9, 1};
    size_t starts[MOST];
    assert_int_equal(changepoints_find(two, 12, 0.1, starts), 3);
    assert_int_equal(starts[0], 0);
    assert_int_equal(starts[1], 4);
    assert_int_equal(starts[2], 8);
    /* One outlier in the middle is no level of its own. */
    static const double outlier[] = {1, 1.1, 0.9, 1, 1, 1.25, 1.1, 0.9, 1, 1.1, 0.9, 1};
    assert_int_equal(changepoints_find(outlier, 12, 0.1, starts), 1);
}

static void edges(void **state) {
    (void)state;
    static const double jump[] = {1, 1, 9, 9, 9}, equal[] = {3, 3, 3, 3, 3, 3, 3};
    size_t starts[MOST];
    assert_int_equal(changepoints_find(jump, 0, 0.1, starts), 0);
    assert_int_equal(changepoints_find(jump, 1, 0.1, starts), 1);
    assert_int_equal(changepoints_find(jump, 5, 0.1, starts), 1); /* too few to tell */
    assert_int_equal(changepoints_find(equal, 7, 1e-3, starts), 1);
    assert_true(changepoints_noise(equal, 7, 1e-3) == 1e-3);
    assert_true(changepoints_noise(equal, 1, 1e-3) == 1e-3);
}

static void noise_of_differences(void **state) {
    (void)state;
    double values[MOST];
    uint64_t position = 0;
    for (size_t i = 0; i < MOST; i++)
        values[i] = 0.02 * normal(1, &position) + (i >= MOST / 2 ? 1 : 0);
    assert_true(fabs(changepoints_noise(values, MOST, 0) - 0.02) < 0.005);
}

/* The least cost of all partitions into segments of at least CHANGEPOINTS_SEGMENT, by recursion. */
static double least_cost(const double *values, size_t n, double penalty) {
    if (n == 0)
        return -penalty;
    double best = INFINITY;
    for (size_t from = 0; from + CHANGEPOINTS_SEGMENT <= n; from++) {
        double mean = 0, error = 0;
        for (size_t i = from; i < n; i++)
            mean += values[i] / (double)(n - from);
        for (size_t i = from; i < n; i++)
            error += (values[i] - mean) * (values[i] - mean);
        best = fmin(best, least_cost(values, from, penalty) + error + penalty);
    }
    return best;
}

static double cost_of(const double *values, size_t n, double penalty, const size_t *starts,
                      size_t n_starts) {
    double total = -penalty;
    for (size_t s = 0; s < n_starts; s++) {
        size_t end = s + 1 < n_starts ? starts[s + 1] : n;
        double mean = 0;
        for (size_t i = starts[s]; i < end; i++)
            mean += values[i] / (double)(end - starts[s]);
        for (size_t i = starts[s]; i < end; i++)
            total += (values[i] - mean) * (values[i] - mean);
        total += penalty;
    }
    return total;
}

static void pruning_loses_nothing(void **state) {
    (void)state;
    enum { N = 14 };
    uint64_t position = 0;
    for (int trial = 0; trial < 100; trial++) {
        double values[N], noise = 0.5;
        size_t starts[MOST];
        for (size_t i = 0; i < N; i++)
            values[i] = normal(2, &position) + (i / 4 % 2 ? 2 : 0);
        double penalty = changepoints_penalty(N, noise);
        size_t n = changepoints_find(values, N, noise, starts);
        double found = cost_of(values, N, penalty, starts, n);
        assert_true(fabs(found - least_cost(values, N, penalty)) < 1e-9);
    }
}

/* Returns how many of 1000 series have a step; `by` is one in the middle, in deviations. */
static unsigned with_steps(size_t n, double by, uint32_t stream) {
    unsigned count = 0;
    uint64_t position = 0;
    for (int trial = 0; trial < 1000; trial++) {
        double values[MOST];
        size_t starts[MOST];
        for (size_t i = 0; i < n; i++)
            values[i] = normal(stream, &position) + (i >= n / 2 ? by : 0);
        count += changepoints_find(values, n, changepoints_noise(values, n, 1e-9), starts) > 1;
    }
    return count;
}

static void noise_has_no_steps(void **state) {
    (void)state;
    static const size_t lengths[] = {10, 20, 50, 100};
    for (uint32_t i = 0; i < 4; i++) {
        unsigned false_steps = with_steps(lengths[i], 0, 10 + i);
        unsigned found = with_steps(lengths[i], 5, 20 + i);
        print_message(
            "%zu values: false steps in %.1f %%, a step of 5 deviations found in %.1f %%\n",
            lengths[i], false_steps / 10.0, found / 10.0);
        assert_true(false_steps <= 30);
        assert_true(found >= (lengths[i] <= 10 ? 800 : 970));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_steps),          cmocka_unit_test(edges),
        cmocka_unit_test(noise_of_differences), cmocka_unit_test(pruning_loses_nothing),
        cmocka_unit_test(noise_has_no_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
