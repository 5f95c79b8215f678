/* What a claim of the gate is made by: that a cell, or a group of cells, is slower. All functions are pure;
 * changes are logarithms of ratios. */
#ifndef BENCH_GATE_CLAIM_H
#define BENCH_GATE_CLAIM_H

#include <stdbool.h>

/* Outside either end of an interval of 95 %. */
static const double CLAIM_OUTSIDE = 0.025;

/* Student's t as stats/student.h has it; many degrees of freedom count as 10,000. */
double claim_quantile(double p, double df);
/* The one-sided probability of a change as large, if there is none. */
double claim_chance(double change_log, double variance, double df);

/* What two runs of one build add to the variance of a change: drift that the passes of a run share (of each
 * side STATS_SHARED of the variance between them), and `spread`, a standard deviation. Runs in turns share both. */
double claim_run_variance(bool paired, double pass_variance, double spread);

/* A claim needs both: the whole interval over passes lies beyond the threshold, and a change as large is
 * improbable between two runs of one build. */
typedef struct claim {
    double variance, df;             /* over passes: of the interval */
    double alarm_variance, alarm_df; /* with what differs between runs: of the probability */
    double doubt_log;                /* part of a change that may be chance for other reasons */
    double threshold_frac, alarm_rate_frac;
} claim_t;
/* The slowdown, as a fraction, that is claimed nine times in ten. */
double claim_detectable(const claim_t *claim);

#endif
