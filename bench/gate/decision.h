/* What is decided of a cell (a phase of a case, or a machine of a fleet): is it slower by more than the
 * threshold? gate_decide() decides few cells, each for itself: machines of a fleet. Of two runs,
 * sweep_decide() does. */
#ifndef BENCH_GATE_DECISION_H
#define BENCH_GATE_DECISION_H

#include "stats/difference.h"

#include <stdbool.h>

/* What a claim of the gate is made by: that a cell, or a group of cells, is slower. All functions are pure;
 * changes are logarithms of ratios. */

/* Defaults: slowdowns up to 5 % are not regressions; the chance of any false alarm over all cells is 1 %. */
static const double GATE_THRESHOLD = 0.05, GATE_ALARM_RATE = 0.01;

typedef enum gate_verdict {
    GATE_UNCHANGED, /* the interval lies within the threshold, on both sides of 1 */
    GATE_REGRESSED, /* significantly slower, the whole interval beyond the threshold */
    GATE_IMPROVED,  /* significantly faster, likewise */
    GATE_UNDECIDED, /* the interval is too wide or missing */
} gate_verdict_t;

const char *gate_verdict_name(gate_verdict_t verdict); /* "unchanged", … */

typedef struct gate_cell {
    stats_change_t change; /* candidate over base */
    double floor_frac;     /* how far two runs of one build may differ; 0 if unknown */
    /* Decided: */
    double threshold_frac;     /* the larger of that asked and the floor */
    double low, high;          /* 95 % interval of the ratio; NaN: nothing may be claimed */
    double p_slower, p_faster; /* adjusted for all cells */
    gate_verdict_t verdict;
} gate_cell_t;

/* Decide all cells together, by intervals between the ends of both sides' own, and by Student's t with
 * Holm's correction. A cell needs STATS_FEWEST_PASSES on each side. */
void gate_decide(gate_cell_t *const *cells, size_t n, double threshold_frac,
                 double alarm_rate_frac);

/* How far runs of one build may differ, as a fraction: the farthest end of the 95 % intervals of
 * the ratios of all pairs. 0 if no pair has an interval. */
double gate_floor_of_runs(const stats_side_t *runs, size_t n_runs);

/* The regression gate's decision for a sweep: which groups of cells, and which cells, are slower? A cell
 * is a phase of a case, a group the cells of one engine and phase. Called by `bench compare` and by the
 * test of the gate's error rates (tests/tools/gate_truth.c). Method: docs/compare.md. */

/* Standard deviations of log ratios between two runs of one build that neither one's passes show. */
typedef struct sweep_spread {
    double cell;   /* of each cell for itself */
    double shared; /* of all cells of a group together */
} sweep_spread_t;

/* From pairs of starts of H200s (docs/compare.md): of this project's programs on a GPU, and of what the
 * host computes, or others compile and launch. */
static const sweep_spread_t SWEEP_SPREAD_OURS = {0.005, 0.005}, SWEEP_SPREAD_OTHERS = {0.03, 0.015};

typedef struct sweep_cell {
    const stats_side_t *sides[2]; /* BASE, CANDIDATE */
    size_t group;
    /* Logarithms: the fastest and the slowest program that a tuning compiler made for each side, as a
     * part of the one that was timed; 0 if none was made. */
    double choices[2][2];
    gate_cell_t gate; /* change and floor_frac; then all of it */
    /* Decided: */
    double variance, df;    /* of the change, by its passes */
    double run_variance;    /* that two runs of one build add to it */
    double detectable_frac; /* the slowdown of this cell alone that is found nine times in ten */
    double more_passes;     /* a side, that would decide it; INFINITY: no number would */
} sweep_cell_t;

typedef struct sweep_group {
    sweep_spread_t spread;
    double floor_frac; /* how far runs of one build differ in all its cells; 0 if unknown */
    /* Decided: */
    size_t n_cells, n_moved; /* with evidence; with an interval wholly on the group's side of 1 */
    double log_ratio, low, high; /* trimmed mean of the cells, and its 95 % interval over passes */
    double threshold_frac;
    double p_slower, p_faster;   /* adjusted for all groups */
    double detectable_frac;      /* the slowdown of all its cells that is found nine times in ten */
    double cell_detectable_frac; /* … of one cell, in half of the cells */
    gate_verdict_t verdict;      /* GATE_UNDECIDED with fewer than SWEEP_FEWEST_CELLS */
} sweep_group_t;

typedef struct tested_sweep {
    sweep_cell_t *cells;
    size_t n_cells;
    sweep_group_t *groups;
    size_t n_groups;
    double threshold_frac;
    double alarm_rate_frac; /* groups and cells have half of it each */
    bool paired;            /* measured in turns */
} tested_sweep_t;

/* Decide all cells and groups together. */
void sweep_decide(tested_sweep_t *sweep);

#endif
