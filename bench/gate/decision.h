/* What is decided of a cell (a phase of a case, or a machine of a fleet): is it slower by more than the
 * threshold? gate_decide() decides few cells, each for itself: machines of a fleet. Of two runs,
 * sweep_decide() does (sweep_test.h). */
#ifndef BENCH_GATE_DECISION_H
#define BENCH_GATE_DECISION_H

#include "stats/difference.h"

#include <stdbool.h>

/* What a claim of the gate is made by: that a cell, or a group of cells, is slower. All functions are pure;
 * changes are logarithms of ratios. */

/* Outside either end of an interval of 95 %. */
static const double CLAIM_OUTSIDE = 0.025;

/* Student's t as stats/passes.h has it; many degrees of freedom count as 10,000. */
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

/* Defaults of gate_options_t. */
static const double GATE_THRESHOLD = 0.05, GATE_ALARM_RATE = 0.01;

typedef enum gate_verdict {
    GATE_UNCHANGED, /* the interval lies within the threshold, on both sides of 1 */
    GATE_REGRESSED, /* significantly slower, the whole interval beyond the threshold */
    GATE_IMPROVED,  /* significantly faster, likewise */
    GATE_UNDECIDED, /* the interval is too wide or missing */
} gate_verdict_t;

const char *gate_verdict_name(gate_verdict_t verdict); /* "unchanged", … */

typedef struct gate_options {
    double threshold_frac;  /* 0.05: slowdowns up to 5 % are not regressions */
    double alarm_rate_frac; /* 0.01: chance of any false alarm over all cells */
} gate_options_t;

typedef struct gate_cell {
    stats_change_t change; /* candidate over base */
    double floor_frac;     /* how far two runs of one build may differ; 0 if unknown */
    /* Decided: */
    double threshold_frac;     /* the larger of the option and the floor */
    double low, high;          /* 95 % interval of the ratio; NaN: nothing may be claimed */
    double p_slower, p_faster; /* adjusted for all cells */
    gate_verdict_t verdict;
} gate_cell_t;

/* Decide all cells together, by intervals between the ends of both sides' own, and by Student's t with
 * Holm's correction. A cell needs STATS_FEWEST_PASSES on each side. */
void gate_decide(gate_cell_t *cells, size_t n, const gate_options_t *options);

/* How far runs of one build may differ, as a fraction: the farthest end of the 95 % intervals of
 * the ratios of all pairs. 0 if no pair has an interval. */
double gate_floor_of_runs(const stats_side_t *runs, size_t n_runs);

#endif
