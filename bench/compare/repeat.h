/* `bench repeat RUN RUN…`: do runs of one sweep agree as well as their intervals say? */
#ifndef BENCH_COMPARE_REPEAT_H
#define BENCH_COMPARE_REPEAT_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct repeat_options {
    const text_list_t *runs; /* folders, at least two */
    bool json;
    FILE *print;
} repeat_options_t;

/* Compare each run with each other, case by case and phase by phase. By engine and phase: in how
 * many the two intervals overlap, how often a median lies in the other run's interval, how far
 * medians move, and how wide intervals are; then the cases that moved most. Only cases that are ok
 * in both runs count; a phase without an interval counts for the medians alone.
 * STATUS_INCOMPARABLE if no two runs share such a case. */
status_t repeat_runs(const repeat_options_t *options, error_t *err);

#endif
