/* The block bootstrap of summary.h. */
#include "base/memory.h"
#include "base/rng.h"
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMERATOR_STREAM = 1, DENOMINATOR_STREAM = 2 };

typedef struct sample {
    double value;
    size_t round;
} sample_t;

/* All samples of a contender, sorted once: the median of any resample of rounds is then one
 * pass. */
typedef struct pool {
    sample_t *samples; /* ascending by value */
    size_t n, n_rounds;
    unsigned *drawn; /* how often each round is in the resample; 1 each at first */
    const size_t *starts;
} pool_t;

static int compare_samples(const void *a, const void *b) {
    double x = ((const sample_t *)a)->value, y = ((const sample_t *)b)->value;
    return (x > y) - (x < y);
}

static pool_t pool_make(const stats_rounds_t *rounds) {
    pool_t pool = {.n_rounds = rounds->n_rounds, .starts = rounds->starts};
    if (rounds->n_rounds > 0)
        pool.n = rounds->starts[rounds->n_rounds] - rounds->starts[0];
    pool.samples = mem_alloc(pool.n * sizeof *pool.samples);
    pool.drawn = mem_zeroed(pool.n_rounds, sizeof *pool.drawn);
    size_t n = 0;
    for (size_t r = 0; r < rounds->n_rounds; r++)
        for (size_t i = rounds->starts[r]; i < rounds->starts[r + 1]; i++)
            pool.samples[n++] = (sample_t){rounds->values[i], r};
    for (size_t r = 0; r < pool.n_rounds; r++)
        pool.drawn[r] = 1;
    if (n > 1)
        qsort(pool.samples, n, sizeof *pool.samples, compare_samples);
    return pool;
}

static void pool_free(pool_t *pool) {
    free(pool->samples);
    free(pool->drawn);
}

/* Median of the pooled samples, each counted as often as its round was drawn; NaN if there are
 * none. */
static double pool_median(const pool_t *pool) {
    size_t total = 0;
    for (size_t r = 0; r < pool->n_rounds; r++)
        total += pool->drawn[r] * (pool->starts[r + 1] - pool->starts[r]);
    if (total == 0)
        return NAN;
    size_t lower_rank = (total - 1) / 2, upper_rank = total / 2;
    size_t i = 0, passed = pool->drawn[pool->samples[0].round];
    while (passed <= lower_rank)
        passed += pool->drawn[pool->samples[++i].round];
    double lower = pool->samples[i].value;
    while (passed <= upper_rank)
        passed += pool->drawn[pool->samples[++i].round];
    return lower + (pool->samples[i].value - lower) / 2;
}

/* Draw n_rounds rounds with replacement. The same seed, stream and turn draw the same rounds. */
static void draw(pool_t *pool, uint64_t seed, uint32_t stream, unsigned turn) {
    memset(pool->drawn, 0, pool->n_rounds * sizeof *pool->drawn);
    for (size_t i = 0; i < pool->n_rounds; i++) {
        /* A fraction of 2^32, scaled: no modulo bias. */
        uint64_t word = rng_word(seed, stream, (uint64_t)turn * pool->n_rounds + i);
        pool->drawn[(word * pool->n_rounds) >> 32]++;
    }
}

/* Share of the bootstrap distribution to cut off at each end. With 2.5 % the intervals are too
 * short for few blocks (of simulated A/A pairs of 5 to 8 rounds, 92 % contain 1). The expanded
 * percentile interval (Hesterberg 2015, "What teachers should know about the bootstrap") cuts where
 * a t interval with the n-1 divisor would: Phi(-t(0.975, n-1) · sqrt(n / (n-1))), with the t
 * quantile by Abramowitz & Stegun 26.7.5. Fewer than 5 rounds have too few distinct resamples for
 * any level. */
static double tail_frac(size_t n_blocks) {
    double n = (double)n_blocks, df = n - 1, z = 1.959963984540054;
    double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    double t = z + (z3 + z) / (4 * df) + (5 * z5 + 16 * z3 + 3 * z) / (96 * df * df) +
               (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * df * df * df);
    return erfc(t * sqrt(n / df) / sqrt(2)) / 2;
}

stats_ratio_t stats_ratio_of_medians(const stats_rounds_t *numerator,
                                     const stats_rounds_t *denominator, bool paired,
                                     unsigned resamples, uint64_t seed) {
    pool_t top = pool_make(numerator), bottom = pool_make(denominator);
    bool same_draws = paired && top.n_rounds == bottom.n_rounds;
    stats_ratio_t result = {pool_median(&top) / pool_median(&bottom), NAN, NAN};

    size_t n_blocks = top.n_rounds < bottom.n_rounds ? top.n_rounds : bottom.n_rounds;
    if (n_blocks >= 2 && !isnan(result.ratio)) {
        double *ratios = mem_alloc(resamples * sizeof *ratios);
        size_t n = 0;
        for (unsigned turn = 0; turn < resamples; turn++) {
            draw(&top, seed, NUMERATOR_STREAM, turn);
            draw(&bottom, seed, same_draws ? NUMERATOR_STREAM : DENOMINATOR_STREAM, turn);
            double ratio = pool_median(&top) / pool_median(&bottom);
            if (!isnan(ratio)) /* NaN: only empty rounds were drawn */
                ratios[n++] = ratio;
        }
        stats_sort(ratios, n);
        double tail = tail_frac(n_blocks);
        result.low = stats_quantile(ratios, n, tail);
        result.high = stats_quantile(ratios, n, 1 - tail);
        free(ratios);
    }
    pool_free(&top);
    pool_free(&bottom);
    return result;
}
