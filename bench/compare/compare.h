/* `bench compare BASE CANDIDATE`: is the candidate slower? Per case, and as a whole. The method and
 * every word that is printed are explained in docs/compare.md; decision.h decides. */
#ifndef BENCH_COMPARE_COMPARE_H
#define BENCH_COMPARE_COMPARE_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct compare_options {
    const char *base, *candidate; /* run folders */
    text_list_t floors; /* further runs of BASE's build: they teach the noise floors; as the other
                           lists, it belongs to the caller */
    bool save_floor;    /* keep what they teach in BASE/floor.json */
    bool learn_floor;   /* both runs are of one build, measured in turns: say how far each cell is
                           apart, and keep that in CANDIDATE/floor.json */
    text_list_t phases; /* these instead of the usual ones; "all" */
    text_list_t allow;  /* what may differ between the runs, by name */
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
