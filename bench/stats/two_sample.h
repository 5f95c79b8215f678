/* Statistics of the regression gate: the uncertainty of a median, whether one median exceeds
 * another, and the correction for many tests. Fast enough for tens of thousands of cells: the
 * bootstrap draws are made once and may be shared between threads. All functions are pure. */
#ifndef BENCH_STATS_TWO_SAMPLE_H
#define BENCH_STATS_TWO_SAMPLE_H

#include "stats/summary.h"

/* Replicates of a bootstrap for a standard error, not a tail: 200 are more than enough (Efron &
 * Tibshirani, An Introduction to the Bootstrap, 1993, 6.4). Blocks beyond STATS_MOST_BLOCKS are
 * merged with their neighbours. */
enum { STATS_REPLICATES = 200, STATS_MOST_BLOCKS = 64 };

/* How often each block is drawn in each replicate, for every number of blocks. */
typedef struct stats_draws stats_draws_t;
stats_draws_t *stats_draws_new(uint64_t seed); /* freed by stats_draws_free() */
void stats_draws_free(stats_draws_t *draws);

/* The median of one side and its uncertainty. */
typedef struct stats_location {
    double median; /* of all samples; NaN if there are none */
    /* Standard error of ln(median) between runs that differ only by chance; NaN with fewer than two
     * rounds or if the median is not above 0. */
    double se_log;
    double df; /* degrees of freedom of se_log */
    size_t n_samples, n_rounds;
} stats_location_t;

/* What stats_change_paired() needs from each side. */
typedef struct stats_pairing {
    double log_medians[STATS_REPLICATES]; /* of the bootstrap's replicates */
    double log_rounds[STATS_MOST_BLOCKS]; /* medians of the rounds */
    double least_se;                      /* minimum, from the clock's resolution */
} stats_pairing_t;

/* The standard error comes from a bootstrap over rounds (Künsch 1989) with the n-1 divisor. It is
 * widened, at most by sqrt(2), if neighbouring rounds are similar (drift), and is at least the
 * clock's rounding error if the samples show it. `pairing` (may be NULL) is filled for
 * stats_change_paired(). */
stats_location_t stats_locate(const stats_rounds_t *rounds, const stats_draws_t *draws,
                              stats_pairing_t *pairing);

/* The logarithm of candidate / base. */
typedef struct stats_change {
    double log_ratio; /* NaN if a side has no median */
    double se, df;    /* Welch & Satterthwaite; NaN if a side has none */
} stats_change_t;

stats_change_t stats_change(const stats_location_t *base, const stats_location_t *candidate);
/* For interleaved rounds, as many on each side: what both share (clock drift) cancels, and only the
 * rest widens. With unequal numbers: stats_change(). */
stats_change_t stats_change_paired(const stats_location_t *base, const stats_pairing_t *of_base,
                                   const stats_location_t *candidate,
                                   const stats_pairing_t *of_candidate);

/* 95 % interval of the ratio candidate / base; NaN without a standard error. */
void stats_change_interval(const stats_change_t *change, double *low, double *high);
/* Probability of a change this large or larger (stats_change_below(): smaller) if the true ratio is
 * `ratio`; 1 without a standard error. */
double stats_change_above(const stats_change_t *change, double ratio);
double stats_change_below(const stats_change_t *change, double ratio);

/* P(T > t) of Student's t with `df` > 0 degrees of freedom, and the t for which it is `p` (0 < p <
 * 0.5). */
double stats_student_tail(double t, double df);
double stats_student_quantile(double p, double df);

/* Holm (1979), "A simple sequentially rejective multiple test procedure": adjusted[i] is the
 * smallest family-wise error rate at which test i is still significant. */
void stats_holm(const double *p, size_t n, double *adjusted);

#endif
