/* Order statistics and bootstrap. Samples are never assumed to be normally distributed. All
 * functions are pure; samples are times in ns, but any unit works. */
#ifndef BENCH_STATS_SUMMARY_H
#define BENCH_STATS_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void stats_sort(double *values, size_t n); /* ascending */

/* Quantile `q` in 0…1 of ascending values by linear interpolation (Hyndman & Fan 1996, type 7).
 * NaN for n = 0. */
double stats_quantile(const double *sorted, size_t n, double q);

/* 95 % confidence interval of the median from order statistics (the binomial interval: David &
 * Nagaraja, Order Statistics, 3rd ed., 7.1): the narrowest symmetric pair of ranks that covers at
 * least 95 %. With fewer than 6 samples no pair does: returns false and gives min and max. */
bool stats_median_ci95(const double *sorted, size_t n, double *low, double *high);

/* Median absolute deviation from the median (not scaled to a standard deviation). */
double stats_mad(const double *sorted, size_t n);

/* Samples of one contender by round: round r holds values[starts[r]] … values[starts[r + 1] - 1];
 * `starts` has n_rounds + 1 entries. */
typedef struct stats_rounds {
    const double *values;
    const size_t *starts;
    size_t n_rounds;
} stats_rounds_t;

typedef struct stats_ratio {
    double ratio;     /* median(numerator) / median(denominator); NaN if either is empty */
    double low, high; /* bootstrap 95 % interval */
} stats_ratio_t;

/* Ratio of medians with a block-bootstrap interval. A block is a round (Künsch 1989): samples of
 * one round share the clock and cache state, so rounds, not samples, are drawn with replacement.
 * With `paired` (interleaved rounds; ignored if the sides have different numbers of rounds) the
 * same rounds are drawn for both. The percentile interval is widened for few rounds (Hesterberg
 * 2015). The seed makes it reproducible. With one round, low = high = NaN. */
stats_ratio_t stats_ratio_of_medians(const stats_rounds_t *numerator,
                                     const stats_rounds_t *denominator, bool paired,
                                     unsigned resamples, uint64_t seed);

#endif
