/* stats/summary: known values, and whether 95 % intervals hold the truth 95 % of the time.
 * Simulations are seeded, so they give the same counts on every run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/rng.h"
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

/* A stream of random numbers; never 0 or 1, for the logarithms below. */
typedef struct source {
    uint32_t stream;
    uint64_t position;
} source_t;

static double uniform(source_t *source) {
    return (rng_word(2026, source->stream, source->position++) + 0.5) / 4294967296.0;
}

static double normal(source_t *source) {
    double radius = sqrt(-2 * log(uniform(source)));
    return radius * cos(2 * PI * uniform(source));
}

static double exponential(source_t *source) {
    return -log(uniform(source));
}

/* 75 % around 0, 25 % around 10: a clock that switches between two states. */
static double bimodal(source_t *source) {
    double centre = uniform(source) < 0.75 ? 0 : 10;
    return centre + normal(source);
}

static void sorting(void **state) {
    (void)state;
    double values[] = {3, NAN, -1, INFINITY, 2, NAN, -INFINITY, 2};
    stats_sort(values, 8);
    const double expected[] = {-INFINITY, -1, 2, 2, 3, INFINITY};
    assert_memory_equal(values, expected, sizeof expected);
    assert_true(isnan(values[6]) && isnan(values[7]));
    stats_sort(NULL, 0);
}

static void quantiles(void **state) {
    (void)state;
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
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double got = stats_quantile(rows[i].sorted, rows[i].n, rows[i].q);
        if (got != rows[i].expected && !(fabs(got - rows[i].expected) < 1e-12))
            fail_msg("row %zu: %.17g, expected %.17g", i, got, rows[i].expected);
    }
    assert_true(isnan(stats_quantile(NULL, 0, 0.5)));
}

static void deviations(void **state) {
    (void)state;
    static const double values[] = {1, 1, 2, 2, 4, 6, 9}; /* median 2, deviations 0 0 1 1 2 4 7 */
    assert_true(stats_mad(values, 7) == 1);
    assert_true(stats_mad(values, 2) == 0);
    assert_true(isnan(stats_mad(NULL, 0)));
}

static void median_interval_ranks(void **state) {
    (void)state;
    static const struct { /* from exact sums of binomial coefficients */
        size_t n, low, high;
    } rows[] = {{6, 1, 6},     {7, 1, 7},        {8, 1, 8},         {9, 2, 8},    {10, 2, 9},
                {11, 2, 10},   {20, 6, 15},      {30, 10, 21},      {31, 10, 22}, {100, 40, 61},
                {101, 41, 61}, {1000, 469, 532}, {5001, 2431, 2571}};
    double ranks[5001];
    for (size_t i = 0; i < 5001; i++)
        ranks[i] = (double)(i + 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double low, high;
        assert_true(stats_median_ci95(ranks, rows[i].n, &low, &high));
        if (low != (double)rows[i].low || high != (double)rows[i].high)
            fail_msg("n = %zu: ranks %g and %g, expected %zu and %zu", rows[i].n, low, high,
                     rows[i].low, rows[i].high);
    }
}

static void median_interval_of_too_few(void **state) {
    (void)state;
    static const double values[] = {1, 2, 3, 4, 5};
    double low, high;
    for (size_t n = 1; n <= 5; n++) {
        assert_false(stats_median_ci95(values, n, &low, &high));
        assert_true(low == 1 && high == (double)n);
    }
    assert_false(stats_median_ci95(values, 0, &low, &high));
    assert_true(isnan(low) && isnan(high));
}

static void median_interval_of_very_many(void **state) {
    (void)state;
    /* 2^-n underflows here; the normal approximation is good to a rank or two. */
    enum { N = 2000000 };
    double *ranks = mem_alloc(N * sizeof *ranks);
    for (size_t i = 0; i < N; i++)
        ranks[i] = (double)(i + 1);
    double low, high;
    assert_true(stats_median_ci95(ranks, N, &low, &high));
    double half_width = 1.959964 * sqrt(N) / 2;
    assert_true(fabs(low - (N / 2.0 + 0.5 - half_width)) < 2);
    assert_true(low + high == N + 1);
    free(ranks);
}

static void median_interval_coverage(void **state) {
    (void)state;
    enum { TRIALS = 2000, MOST = 301 };
    static const struct {
        const char *name;
        double (*draw)(source_t *source);
        double median, density; /* of the distribution, there */
    } rows[] = {
        {"normal", normal, 0, 0.398942},
        {"exponential", exponential, 0.693147, 0.5},
        /* 0.75 · Phi(m) = 0.5 */
        {"bimodal", bimodal, 0.430727, 0.75 * 0.363600},
    };
    static const size_t sizes[] = {6, 30, MOST};
    for (size_t d = 0; d < sizeof rows / sizeof *rows; d++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            source_t source = {.stream = (uint32_t)(100 + 10 * d + s)};
            size_t n = sizes[s], hits = 0;
            double values[MOST], low, high, width = 0;
            for (int trial = 0; trial < TRIALS; trial++) {
                for (size_t i = 0; i < n; i++)
                    values[i] = rows[d].draw(&source);
                stats_sort(values, n);
                assert_true(stats_median_ci95(values, n, &low, &high));
                hits += low <= rows[d].median && rows[d].median <= high;
                width += (high - low) / TRIALS;
            }
            double coverage = (double)hits / TRIALS;
            if (coverage < 0.94 || coverage > 0.99)
                fail_msg("%s, n = %zu: %.3f", rows[d].name, n, coverage);
            /* An interval that is always right because it is always wide would pass so far. The
             * large sample has the width that theory gives: 2 · 1.96 / (2 · density · sqrt(n)). */
            double ideal = 1.96 / (rows[d].density * sqrt((double)n));
            if (n == MOST && !(width > 0.85 * ideal && width < 1.3 * ideal))
                fail_msg("%s: width %g, expected about %g", rows[d].name, width, ideal);
        }
}

enum { PER_ROUND = 20, MOST_ROUNDS = 30 };

typedef struct contender {
    double values[MOST_ROUNDS * PER_ROUND];
    size_t starts[MOST_ROUNDS + 1];
    stats_rounds_t rounds;
} contender_t;

static void contender_init(contender_t *contender, size_t n_rounds) {
    for (size_t r = 0; r <= n_rounds; r++)
        contender->starts[r] = r * PER_ROUND;
    contender->rounds = (stats_rounds_t){contender->values, contender->starts, n_rounds};
}

/* Interleaved rounds: a round's clock state `shared_frac` slows both sides down, each round of a
 * side has some luck of its own, and so has every sample, always to the slow side as times have. */
static void simulate(source_t *source, contender_t *top, contender_t *bottom, double ratio,
                     double shared_frac) {
    for (size_t r = 0; r < top->rounds.n_rounds; r++) {
        double shared = 1 + shared_frac * normal(source);
        double top_luck = 1 + 0.01 * normal(source), bottom_luck = 1 + 0.01 * normal(source);
        for (size_t i = r * PER_ROUND; i < (r + 1) * PER_ROUND; i++) {
            top->values[i] = ratio * 1000 * shared * top_luck * (1 + 0.02 * exponential(source));
            bottom->values[i] = 1000 * shared * bottom_luck * (1 + 0.02 * exponential(source));
        }
    }
}

static void ratio_interval_coverage(void **state) {
    (void)state;
    enum { TRIALS = 500, RESAMPLES = 200 };
    static const struct {
        size_t n_rounds;
        double ratio;
    } rows[] = {{30, 1}, {30, 3.4}, {8, 1}, {5, 1}};
    for (size_t c = 0; c < sizeof rows / sizeof *rows; c++) {
        source_t source = {.stream = (uint32_t)(200 + c)};
        size_t hits = 0;
        double width = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            contender_t top, bottom;
            contender_init(&top, rows[c].n_rounds);
            contender_init(&bottom, rows[c].n_rounds);
            simulate(&source, &top, &bottom, rows[c].ratio, 0.02);
            stats_ratio_t got =
                stats_ratio_of_medians(&top.rounds, &bottom.rounds, true, RESAMPLES, 1);
            assert_true(got.low <= got.ratio && got.ratio <= got.high);
            hits += got.low <= rows[c].ratio && rows[c].ratio <= got.high;
            width += (got.high - got.low) / rows[c].ratio / TRIALS;
        }
        double coverage = (double)hits / TRIALS;
        if (coverage < 0.92 || coverage > 0.995)
            fail_msg("%zu rounds, ratio %g: %.3f", rows[c].n_rounds, rows[c].ratio, coverage);
        assert_true(width < 0.3 / sqrt((double)rows[c].n_rounds)); /* 1 % luck a side, not 100 % */
    }
}

/* What pairing is for: the clock state that both sides share cancels. */
static void pairing_narrows(void **state) {
    (void)state;
    source_t source = {.stream = 300};
    contender_t top, bottom;
    contender_init(&top, 30);
    contender_init(&bottom, 30);
    simulate(&source, &top, &bottom, 1, 0.1);
    stats_ratio_t paired = stats_ratio_of_medians(&top.rounds, &bottom.rounds, true, 1000, 1);
    stats_ratio_t unpaired = stats_ratio_of_medians(&top.rounds, &bottom.rounds, false, 1000, 1);
    assert_true(paired.ratio == unpaired.ratio);
    assert_true(2 * (paired.high - paired.low) < unpaired.high - unpaired.low);
    /* Sides with different numbers of rounds cannot be paired; asking for it changes nothing. */
    bottom.rounds.n_rounds = 29;
    stats_ratio_t asked = stats_ratio_of_medians(&top.rounds, &bottom.rounds, true, 100, 1);
    stats_ratio_t plain = stats_ratio_of_medians(&top.rounds, &bottom.rounds, false, 100, 1);
    assert_memory_equal(&asked, &plain, sizeof asked);
}

static void a_contender_against_itself(void **state) {
    (void)state;
    source_t source = {.stream = 301};
    contender_t top, bottom;
    contender_init(&top, 10);
    contender_init(&bottom, 10);
    simulate(&source, &top, &bottom, 1, 0.02);
    stats_ratio_t got = stats_ratio_of_medians(&top.rounds, &top.rounds, true, 200, 1);
    assert_true(got.ratio == 1 && got.low == 1 && got.high == 1);
}

static void seeds(void **state) {
    (void)state;
    source_t source = {.stream = 302};
    contender_t top, bottom;
    contender_init(&top, 10);
    contender_init(&bottom, 10);
    simulate(&source, &top, &bottom, 2, 0.02);
    stats_ratio_t a = stats_ratio_of_medians(&top.rounds, &bottom.rounds, true, 200, 1);
    stats_ratio_t same = stats_ratio_of_medians(&top.rounds, &bottom.rounds, true, 200, 1);
    stats_ratio_t other = stats_ratio_of_medians(&top.rounds, &bottom.rounds, true, 200, 2);
    assert_memory_equal(&a, &same, sizeof a);
    assert_true(a.ratio == other.ratio);
    assert_true(a.low != other.low || a.high != other.high);
}

/* Rounds are what is drawn: with all the spread between rounds, more samples a round must not help.
 */
static void samples_of_a_round_are_no_new_evidence(void **state) {
    (void)state;
    contender_t noisy, fixed;
    contender_init(&noisy, 10);
    contender_init(&fixed, 10);
    source_t source = {.stream = 303};
    double few_values[10];
    size_t few_starts[11];
    for (size_t r = 0; r < 10; r++) {
        few_values[r] = 100 + 5 * normal(&source);
        few_starts[r] = r;
        for (size_t i = r * PER_ROUND; i < (r + 1) * PER_ROUND; i++) {
            noisy.values[i] = few_values[r];
            fixed.values[i] = 100;
        }
    }
    few_starts[10] = 10;
    stats_rounds_t few = {few_values, few_starts, 10};
    stats_ratio_t many = stats_ratio_of_medians(&noisy.rounds, &fixed.rounds, true, 500, 1);
    stats_ratio_t one = stats_ratio_of_medians(&few, &fixed.rounds, true, 500, 1);
    assert_memory_equal(&many, &one, sizeof many);
    assert_true(many.low < many.high);
}

static void degenerate_rounds(void **state) {
    (void)state;
    static const double values[] = {2, 4, 6, 8}, zeros[] = {0, 0, 0, 0};
    static const size_t one_round[] = {0, 4}, two_rounds[] = {0, 2, 4}, no_samples[] = {0, 0};
    static const size_t gaps[] = {0, 0, 2, 2, 4}, offset[] = {1, 2, 4};
    const stats_rounds_t single = {values, one_round, 1}, pair = {values, two_rounds, 2};
    const stats_rounds_t none = {NULL, NULL, 0}, empty = {values, no_samples, 1};
    const stats_rounds_t gappy = {values, gaps, 4}, zero = {zeros, two_rounds, 2};
    const stats_rounds_t later = {values, offset, 2};

    stats_ratio_t got = stats_ratio_of_medians(&single, &pair, false, 100, 1);
    assert_true(got.ratio == 1 && isnan(got.low) && isnan(got.high));
    const stats_rounds_t *const without[] = {&none, &empty};
    for (size_t i = 0; i < 2; i++) {
        got = stats_ratio_of_medians(without[i], &pair, false, 100, 1);
        assert_true(isnan(got.ratio) && isnan(got.low) && isnan(got.high));
        got = stats_ratio_of_medians(&pair, without[i], true, 100, 1);
        assert_true(isnan(got.ratio) && isnan(got.low) && isnan(got.high));
    }
    got = stats_ratio_of_medians(&gappy, &gappy, false, 500, 1); /* resamples without any sample */
    assert_true(got.ratio == 1 && got.low <= 1 && got.high >= 1 && isfinite(got.high));
    got = stats_ratio_of_medians(&zero, &zero, true, 100, 1);
    assert_true(isnan(got.ratio) && isnan(got.low));
    got = stats_ratio_of_medians(&later, &pair, false, 100, 1); /* 4 6 8 over 2 4 6 8 */
    assert_true(fabs(got.ratio - 6.0 / 5) < 1e-15);
    got = stats_ratio_of_medians(&pair, &pair, true, 0, 1);
    assert_true(got.ratio == 1 && isnan(got.low) && isnan(got.high));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorting),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(deviations),
        cmocka_unit_test(median_interval_ranks),
        cmocka_unit_test(median_interval_of_too_few),
        cmocka_unit_test(median_interval_of_very_many),
        cmocka_unit_test(median_interval_coverage),
        cmocka_unit_test(ratio_interval_coverage),
        cmocka_unit_test(pairing_narrows),
        cmocka_unit_test(a_contender_against_itself),
        cmocka_unit_test(seeds),
        cmocka_unit_test(samples_of_a_round_are_no_new_evidence),
        cmocka_unit_test(degenerate_rounds),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
