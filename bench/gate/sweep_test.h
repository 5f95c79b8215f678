/* The regression gate's decision for a sweep: which groups of cells, and which cells, are slower? A cell
 * is a phase of a case, a group the cells of one engine and phase. Called by `bench compare` and by the
 * test of the gate's error rates (tests/tools/gate_truth.c). Method: docs/compare.md. */
#ifndef BENCH_GATE_SWEEP_TEST_H
#define BENCH_GATE_SWEEP_TEST_H

#include "gate/decision.h"

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
    double alarm_rate_frac; /* as in gate_options_t; groups and cells have half of it each */
    bool paired;            /* measured in turns */
} tested_sweep_t;

/* Decide all cells and groups together. */
void sweep_decide(tested_sweep_t *sweep);

#endif
