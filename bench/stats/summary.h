/* Order statistics. Samples are never assumed to be normally distributed. All functions are pure;
 * samples are times in ns, but any unit works. */
#ifndef BENCH_STATS_SUMMARY_H
#define BENCH_STATS_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void stats_sort(double *values, size_t n); /* ascending */

/* Quantile `q` in 0…1 of ascending values by linear interpolation (Hyndman & Fan 1996, type 7).
 * NaN for n = 0. */
double stats_quantile(const double *sorted, size_t n, double q);

double stats_median(const double *values, size_t n); /* in any order; NaN for n = 0 */

/* The smallest step of the clock that these ascending times were read from; 0 if they do not show
 * it. Only times that repeatedly fall on the same ticks do: the distance between equal times and one
 * late one is no tick. */
double stats_tick(const double *sorted, size_t n);

/* Median absolute deviation from the median (not scaled to a standard deviation). */
double stats_mad(const double *sorted, size_t n);

/* Samples of one contender by round: round r holds values[starts[r]] … values[starts[r + 1] - 1];
 * `starts` has n_rounds + 1 entries. */
typedef struct stats_rounds {
    const double *values;
    const size_t *starts;
    size_t n_rounds;
} stats_rounds_t;

#endif
