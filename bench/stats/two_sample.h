/* Statistics of the regression gate: how far one side of a comparison exceeds the other, from the
 * passes of both. All functions are pure. */
#ifndef BENCH_STATS_TWO_SAMPLE_H
#define BENCH_STATS_TWO_SAMPLE_H

#include "stats/bimodal.h"
#include "stats/passes.h"

/* The evidence of one side. */
typedef struct stats_side {
    stats_pass_t units[STATS_MOST_PASSES];
    size_t n;
    bool are_passes; /* false: fewer than STATS_FEWEST_PASSES; the units are rounds, and what
                      * differs between processes is unknown */
    bimodal_t bimodal;
} stats_side_t;

/* Of all rounds, pass after pass; pass p has the rounds pass_starts[p] … pass_starts[p + 1] - 1.
 * Units beyond STATS_MOST_PASSES are joined with their neighbours. */
stats_side_t stats_side_of(const stats_rounds_t *rounds, const size_t *pass_starts, size_t n_passes,
                           const bimodal_t *bimodal);

/* Candidate over base. */
typedef struct stats_change {
    double log_ratio; /* of the centres; NaN if a side has no time */
    double low, high; /* 95 % interval of the ratio; NaN with too few units */
    double se, df;    /* of log_ratio; NaN with too few units */
    double range_log; /* how far the units of one side differ, the wider one */
    /* If processes have two states: the chance that all are slow on one side and fast on the other.
     * No spread within a side shows that. */
    double chance_of_states;
    bool are_passes; /* on both sides */
    double mean_log; /* as log_ratio, of means of logarithms: `se` is its standard error */
    double weight;   /* se² is the variance between passes times this: 1 / n of each side */
    double values_log
        [2]; /* if a side has two values: the ends of their ratios; else log_ratio twice */
} stats_change_t;

/* Of runs measured one after the other. The interval is that between the ends of the two runs' own
 * intervals, each widened by a quarter of its passes' range: wider than one of the difference,
 * because slow drift moves a whole run. `se` and `df` as Welch and Satterthwaite. If a side has two values, the interval covers the ratios of both. */
stats_change_t stats_change(const stats_side_t *base, const stats_side_t *candidate);
/* Of interleaved runs with the same number of passes: the ratios of each pass, in which drift that
 * both share cancels. Otherwise stats_change(). */
stats_change_t stats_change_paired(const stats_side_t *base, const stats_side_t *candidate);

/* Probability of a change this large or larger (stats_change_below(): smaller) if the true ratio is
 * `ratio`; 1 without a standard error. */
double stats_change_above(const stats_change_t *change, double ratio);
double stats_change_below(const stats_change_t *change, double ratio);

#endif
