/* `bench repeat`: do runs of one sweep agree as well as their intervals say? */
#ifndef BENCH_COMPARE_REPEAT_H
#define BENCH_COMPARE_REPEAT_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct repeat_options {
    const text_list_t *operands; /* run folders, at least two; or sweeps */
    const char *root;            /* the project's folder */
    /* Of sweeps: how many runs, into out/1 … out/times (NULL: results/repeat-TIME), with these
     * options of `bench run`. */
    unsigned times;
    const char *out;
    text_list_t run_options;
    bool resume; /* keep what an interrupted repeat has finished */
    bool quiet, json;
    FILE *print;
} repeat_options_t;

/* Are the operands sweeps (files), or runs (folders)? STATUS_USAGE if some are either. */
status_t repeat_find_sweeps(const text_list_t *operands, bool *sweeps, error_t *err);

/* Compare each run with each other, case by case and phase by phase. By engine and phase: in how
 * many the two intervals overlap, how often a median lies in the other run's interval, how far
 * medians move, and how wide intervals are; the same of the headline's speed-ups, by workload and
 * size; then what moved most. Only cases that are ok in both runs count; a phase without an interval
 * counts for the medians alone. STATUS_INCOMPARABLE if no two runs share such a case. */
status_t repeat_runs(const repeat_options_t *options, error_t *err);

/* Run the sweeps options->times times, one after the other, then repeat_runs(). Ctrl-C ends the
 * current run cleanly. */
status_t repeat_sweeps(const repeat_options_t *options, error_t *err);

#endif
