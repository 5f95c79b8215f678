/* `bench history RUN…`: the same cases over many runs, in the order given: where did one step to
 * another level? A slow creep, each step of it under the gate's threshold, is seen here. */
#ifndef BENCH_COMPARE_HISTORY_H
#define BENCH_COMPARE_HISTORY_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct history_options {
    const text_list_t *runs; /* folders, oldest first */
    text_list_t phases;  /* these instead of the usual ones; belongs to the caller, as `allow` */
    text_list_t allow;   /* as in `bench compare` */
    double least_frac;   /* smaller steps are not told */
    const char *case_id; /* only this case; or NULL */
    const char *out;     /* draw charts into this folder; NULL: none */
    const char *format;  /* "svg", "png" or "svg,png"; NULL: "svg" */
    bool all;            /* tell and draw cases without a step, too */
    bool json;
    const char *root; /* the project's folder: gnuplot scripts are in <root>/plots */
    FILE *print;
} history_options_t;

status_t history_runs(const history_options_t *options, error_t *err);

#endif
