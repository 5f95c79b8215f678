/* One phase of one case over many runs. */
#ifndef BENCH_COMPARE_HISTORY_SERIES_H
#define BENCH_COMPARE_HISTORY_SERIES_H

#include "compare/history.h"
#include "results/record.h"

typedef struct history_step {
    size_t run;   /* first run of the new level */
    double ratio; /* new level over the one before */
} history_step_t;

typedef struct history_point {
    double median, low, high; /* ns; 95 % interval of the median */
    double level;             /* ns: of the step fit */
} history_point_t;

typedef struct history_series {
    char *id, *phase;
    size_t n_runs;
    history_point_t
        *points; /* for each run; NaN if it has no times of the case that may be compared */
    text_list_t
        left_out; /* "RUN: self-reported": times that may not be compared with those before */
    history_step_t *steps;
    size_t n_steps, n_times;
} history_series_t;

typedef struct history_list {
    history_series_t *items;
    size_t n, capacity;
} history_list_t;

/* Every case of any run, in order of appearance, with the asked phases (none: host_to_host or
 * total, and the kernel's). */
history_list_t history_collect(const record_t *runs, size_t n_runs,
                               const history_options_t *options);
/* Fit steps (stats/changepoints.h) to the logarithms of medians; smaller ones than `least_frac` are
 * ignored. */
void history_fit(history_series_t *series, double least_frac);
/* Series without a step, and of which no run is left out, are shown only if `all`. */
bool history_is_shown(const history_series_t *series, bool all);
/* The first and the last level; NaN without times. */
void history_ends(const history_series_t *series, double *first, double *last);
void history_list_free(history_list_t *list);

#endif
