/* Statistics of the regression gate: how sure a median is, whether one is beyond another, and what
 * is left of that when many are asked at once. Cheap enough for tens of thousands of cells: the
 * draws of the bootstrap are made once and shared. Pure functions of their arguments; the draws may
 * be shared between threads. */
#ifndef BENCH_STATS_TWO_SAMPLE_H
#define BENCH_STATS_TWO_SAMPLE_H

#include "stats/summary.h"

/* Replicates of a bootstrap that gives a standard error, not a tail: 200 are more than enough
 * (Efron & Tibshirani, An Introduction to the Bootstrap, 1993, 6.4). More blocks than
 * STATS_MOST_BLOCKS are joined with their neighbours. */
enum { STATS_REPLICATES = 200, STATS_MOST_BLOCKS = 64 };

/* How often each block is drawn in each replicate, for every number of blocks. */
typedef struct stats_draws stats_draws_t;
stats_draws_t *stats_draws_new(uint64_t seed); /* freed by stats_draws_free() */
void stats_draws_free(stats_draws_t *draws);

/* The median of one side, and how sure it is. */
typedef struct stats_location {
    double median; /* of all samples; NaN without any */
    /* Standard error of ln(median) over runs that differ only by chance; NaN with fewer than two
     * rounds, and where the median is not above 0. */
    double se_log;
    double df; /* degrees of freedom of se_log */
    size_t n_samples, n_rounds;
} stats_location_t;

/* What stats_change_paired() needs of a side. */
typedef struct stats_pairing {
    double log_medians[STATS_REPLICATES]; /* of the bootstrap's replicates */
    double log_rounds[STATS_MOST_BLOCKS]; /* medians of the rounds */
    double least_se;                      /* what the clock's resolution allows */
} stats_pairing_t;

/* The standard error is that of a bootstrap whose block is a round (Künsch 1989), with the n-1
 * divisor, and
 * - widened where neighbouring rounds are alike (drift), at most by sqrt(2);
 * - at least what the clock's resolution allows, where samples on a few ticks of it show it.
 * `pairing` (may be NULL) is filled for stats_change_paired(). */
stats_location_t stats_locate(const stats_rounds_t *rounds, const stats_draws_t *draws,
                              stats_pairing_t *pairing);

/* How far two medians are apart, as the logarithm of candidate / base. */
typedef struct stats_change {
    double log_ratio; /* NaN where a side has none */
    double se, df;    /* Welch & Satterthwaite; NaN where a side has none */
} stats_change_t;

stats_change_t stats_change(const stats_location_t *base, const stats_location_t *candidate);
/* Rounds of the two sides were taken in turns, as many of each: what both shared (the clock's
 * drift) cancels, and only what did not cancel widens. With unequal numbers: stats_change(). */
stats_change_t stats_change_paired(const stats_location_t *base, const stats_pairing_t *of_base,
                                   const stats_location_t *candidate,
                                   const stats_pairing_t *of_candidate);

/* 95 % interval of the ratio candidate / base; NaN where there is no standard error. */
void stats_change_interval(const stats_change_t *change, double *low, double *high);
/* Probability of a change as large as this, or larger, when the true ratio is `ratio` (smaller or
 * larger for stats_change_below()). 1 where there is no standard error: nothing is shown. */
double stats_change_above(const stats_change_t *change, double ratio);
double stats_change_below(const stats_change_t *change, double ratio);

/* P(T > t) of Student's t with `df` > 0 degrees of freedom, and the t for which it is `p` (0 < p <
 * 0.5). */
double stats_student_tail(double t, double df);
double stats_student_quantile(double p, double df);

/* Holm (1979), "A simple sequentially rejective multiple test procedure": adjusted[i] is the
 * smallest rate of any false alarm in all n at which test i still counts. */
void stats_holm(const double *p, size_t n, double *adjusted);

#endif
