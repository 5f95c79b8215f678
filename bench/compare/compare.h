/* `bench compare BASE CANDIDATE`: is the candidate slower, by case and overall? docs/compare.md
 * explains the method and the output; decision.h decides. */
#ifndef BENCH_COMPARE_COMPARE_H
#define BENCH_COMPARE_COMPARE_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>

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
    FILE *print;
} compare_options_t;

/* STATUS_FAILED for a regression, STATUS_INCOMPARABLE, STATUS_NOISY (strict), or STATUS_OK. `err`
 * stays empty if the output explains the status. */
status_t compare_runs(const compare_options_t *options, error_t *err);

#endif
