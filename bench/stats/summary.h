/* Order statistics. Samples are never assumed to be normally distributed. All functions are pure;
 * samples are times in ns, but any unit works. */
#ifndef BENCH_STATS_SUMMARY_H
#define BENCH_STATS_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

/* Student's t, and corrections for many tests. */

/* P(T > t) with `df` > 0 degrees of freedom, and the t for which it is `p` (0 < p < 0.5). */
double stats_student_tail(double t, double df);
double stats_student_quantile(double p, double df);

/* Holm (1979), "A simple sequentially rejective multiple test procedure": adjusted[i] is the
 * smallest family-wise error rate at which test i is still significant. */
void stats_holm(const double *p, size_t n, double *adjusted);
/* Benjamini & Hochberg (1995), "Controlling the false discovery rate": adjusted[i] is the smallest rate of
 * false ones among all that are called significant at which test i is. If no test has anything to find,
 * that is the chance of any false one. */
void stats_false_discovery(const double *p, size_t n, double *adjusted);

/* The trimmed mean: what most of many values share, whatever a few of them do. Tukey & McLaughlin
 * (1963), "Less vulnerable confidence and significance procedures for location", Sankhya A 25. */

typedef struct stats_trimmed {
    double mean;   /* without the fifth of the values at either end; NaN for n = 0 */
    double se, df; /* from the winsorised values; se is NaN with fewer than two values left */
} stats_trimmed_t;

/* `sorted` is ascending. */
stats_trimmed_t stats_trimmed_of(const double *sorted, size_t n);

/* Two values instead of one: round medians that lie in two groups with nothing between. A median of
 * such rounds is one group's or the other's by chance, and no interval around it shows that. */

/* Fewer rounds show two groups too often by chance. */
enum { BIMODAL_FEWEST_ROUNDS = 40 };

typedef struct bimodal {
    bool found;
    double low, high;  /* medians of the two groups */
    double share_high; /* of the rounds, 0 … 1 */
} bimodal_t;

/* `medians` of all rounds, pass after pass; pass p has the rounds starts[p] … starts[p + 1] - 1.
 * `tick` is the step of the clock, in their unit (stats_tick()). The logarithms are split by 2-means.
 * Found if all hold:
 *   1. each group has at least 20 % of the rounds;
 *   2. the groups' medians are at least 5 % and three ticks apart,
 *   3. and at least 4 times 1.4826 MAD of the wider group;
 *   4. the middle third between the medians holds at most 5 % of the rounds;
 *   5. at least two passes have rounds of both groups: else it is the processes that differ. */
bimodal_t bimodal_of(const double *medians, const size_t *starts, size_t n_passes, double tick);

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
