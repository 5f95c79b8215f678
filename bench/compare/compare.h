/* `bench compare BASE CANDIDATE`: is the candidate slower? Per case, and as a whole. The method and
 * every word that is printed are explained in docs/compare.md; decision.h decides. */
#ifndef BENCH_COMPARE_COMPARE_H
#define BENCH_COMPARE_COMPARE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct compare_options {
    const char *base, *candidate; /* run folders */
    const char *const *floors;    /* further runs of BASE's build: they teach the noise floors */
    size_t n_floors;
    bool save_floor;  /* keep what they teach in BASE/floor.json */
    bool learn_floor; /* both runs are of one build, measured in turns: say how far each cell is
                         apart, and keep that in CANDIDATE/floor.json */
    const char *const *phases; /* these instead of the usual ones; "all" */
    size_t n_phases;
    const char *const *allow; /* what may differ between the runs, by name */
    size_t n_allow;
    double threshold_frac;
    const char *markdown, *junit; /* files to write, or NULL */
    bool json;                    /* print JSON instead of a table */
    bool all;                     /* show unchanged cases too */
    bool strict;                  /* cases of BASE without a verdict fail (exit code 4) */
    FILE *print;
} compare_options_t;

/* STATUS_FAILED for a regression, STATUS_INCOMPARABLE, STATUS_NOISY (strict), or STATUS_OK; `err`
 * stays empty where the table has said it all. */
status_t compare_runs(const compare_options_t *options, error_t *err);

#endif
