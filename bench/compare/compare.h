/* `bench compare BASE CANDIDATE`: is the candidate slower, by case and overall? docs/compare.md
 * explains the method and the output; decision.h decides. */
#ifndef BENCH_COMPARE_COMPARE_H
#define BENCH_COMPARE_COMPARE_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>

typedef struct compare_options {
    const char *base, *candidate; /* run folders */
    text_list_t floors; /* more runs of BASE's build, for noise floors; the caller owns the lists */
    bool save_floor;    /* save the floors in BASE/floor.json */
    bool
        learn_floor; /* interleaved runs of one build: show unchanged cases too, and save each cell's
                           difference as its noise floor in CANDIDATE/floor.json */
    text_list_t phases; /* instead of the default ones; "all" */
    text_list_t allow;  /* names of what may differ between the runs */
    double threshold_frac;
    const char *markdown, *junit; /* files to write, or NULL */
    bool json;                    /* print JSON instead of a table */
    bool all;                     /* show unchanged cases too */
    bool strict;                  /* a case of BASE without a verdict: STATUS_NOISY */
} compare_options_t;

/* STATUS_FAILED for a regression, STATUS_INCOMPARABLE, STATUS_NOISY (strict), or STATUS_OK. `err`
 * stays empty if the output explains the status. */
status_t compare_runs(const compare_options_t *options, error_t *err);

/* `bench history RUN…`: cases over many runs, in the order given: from the first median to the last.
 * Finds gradual slowdowns, too, of which no two neighbours differ by more than the gate's threshold. */

typedef struct history_options {
    const text_list_t *runs; /* folders, oldest first */
    text_list_t phases;      /* instead of the default ones; the caller owns the lists */
    text_list_t allow;       /* as in `bench compare` */
    double least_frac;       /* smaller changes are not shown */
    const char *case_id;     /* only this case; or NULL */
    bool all;                /* show cases without a change, too */
    bool json;
} history_options_t;

status_t history_runs(const history_options_t *options, error_t *err);

/* `bench repeat`: do runs of one sweep agree as well as their intervals say? */

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
