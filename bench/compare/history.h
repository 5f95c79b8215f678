/* `bench history RUN…`: cases over many runs, in the order given: from the first median to the last.
 * Finds gradual slowdowns, too, of which no two neighbours differ by more than the gate's threshold. */
#ifndef BENCH_COMPARE_HISTORY_H
#define BENCH_COMPARE_HISTORY_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct history_options {
    const text_list_t *runs; /* folders, oldest first */
    text_list_t phases;      /* instead of the default ones; the caller owns the lists */
    text_list_t allow;       /* as in `bench compare` */
    double least_frac;       /* smaller changes are not shown */
    const char *case_id;     /* only this case; or NULL */
    bool all;                /* show cases without a change, too */
    bool json;
    FILE *print;
} history_options_t;

status_t history_runs(const history_options_t *options, error_t *err);

#endif
