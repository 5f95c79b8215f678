/* The interval that holds for the next run. What differs from run to run is fixed when a process
 * starts, so the unit of evidence is the pass: one walk over the sweep with fresh processes. Of
 * each pass one number is taken, the logarithm of its median or of its ratio of two medians. */
#ifndef BENCH_STATS_PASSES_H
#define BENCH_STATS_PASSES_H

#include <stdbool.h>
#include <stddef.h>

/* Order statistics. Samples are never assumed to be normally distributed. All functions are pure;
 * samples are times in ns, but any unit works. */

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

void stats_sort(double *values, size_t n);            /* ascending */
double *stats_sorted(const double *values, size_t n); /* a sorted copy; the caller frees it */

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

/* With fewer passes the spread between processes is unknown: three of them are in one of two equal
 * states in a quarter of all runs. */
enum { STATS_FEWEST_PASSES = 5, STATS_MOST_PASSES = 64 };

/* The evidence of one pass. */
typedef struct stats_pass {
    double log_value;    /* ln of its median, or of its ratio; NaN: it has none */
    double variance_log; /* of log_value, from the pass's own rounds; 0 with one round */
    double shared;       /* variance that the passes of a run share, of that between them */
} stats_pass_t;

/* Of the samples that one pass took, in rounds. The variance is that of a median of normal round
 * medians, π/2 · R / (R - 1) · Σ wᵣ² (yᵣ - ȳ)² with wᵣ a round's share of the samples (clusters of
 * unequal sizes: Cochran, Sampling Techniques, 1977, ch. 9A; π/2 · s² / R with equal shares), plus
 * that of a clock which ticks: (tick / median)² / 12. */
stats_pass_t stats_pass_of(const stats_rounds_t *rounds);
/* The numerator over the denominator, both of the same pass. `shared` is the larger. */
stats_pass_t stats_pass_ratio(const stats_pass_t *numerator, const stats_pass_t *denominator);

typedef struct stats_interval {
    double centre, low, high; /* low and high are NaN with fewer than STATS_FEWEST_PASSES */
    size_t n_passes;          /* that have a value */
    double mean_log;          /* of the logarithms */
    double se_log;            /* its standard error; NaN as low and high */
    double range_log;         /* the largest logarithm less the smallest */
} stats_interval_t;

/* The passes of a run lie within minutes, in which the host is as fast as its neighbours let it be.
 * So for what the host drives they share a part of their variance, and the next run's centre varies by
 * more than theirs says. STATS_SHARED is a third of the variance between passes (an intraclass
 * correlation of 0.25), from repeated runs on an H200: docs/measuring.md. */
static const double STATS_SHARED = 1.0 / 3;

/* Centre: exp of the Hodges-Lehmann estimator, the median of the averages of all pairs of passes
 * (each with itself too). Interval, 95 %: exp of the hull of Student's t around the mean, whose
 * variance v is at least that of the passes' own errors, and counts as v (1 / n + shared) (design
 * effect: Kish, Survey Sampling, 1965, 5.4), and the signed-rank interval of Wilcoxon
 * and Tukey (Hollander & Wolfe, Nonparametric Statistical Methods, 3.3 and 3.4). Either alone
 * covers too rarely with so few passes (docs/measuring.md has the simulated coverage). */
stats_interval_t stats_interval_of(const stats_pass_t *passes, size_t n);

/* Half of its width, as a part of its centre; NaN without an interval. */
double stats_half_width(const stats_interval_t *interval);

/* ---- how many passes, and how much of one (docs/measuring.md) ---- */

/* What is asked of a case whose number of passes is open. */
typedef struct stats_aim {
    double half_width;   /* of its interval, as a part of the centre */
    size_t fewest, most; /* passes; `fewest` is STATS_FEWEST_PASSES or more, unless it is `most` */
} stats_aim_t;

/* Has the case passes enough after these? They are so many as asked at most; or the interval is as narrow as asked, with
 * STATS_FEWEST_PASSES half as wide: as many lie in one of two states in one run of 13; or from STATS_FEWEST_PASSES + 1 on
 * even the most, as far apart as these, would not make it that narrow. */
bool stats_has_enough(const stats_pass_t *passes, size_t n, const stats_aim_t *aim);

/* The variance between the passes' values; NaN with fewer than two. */
double stats_variance_between(const stats_pass_t *passes, size_t n);

/* Is the pass's own error so small beside the spread between passes that more rounds hardly narrow the interval? Its
 * variance is at most a ninth, so that the interval is at most 1.06 times as wide as without it. */
bool stats_spread_dominates(const stats_pass_t *pass, double variance_between);

#endif
