/* One phase of one case over many runs. */
#ifndef BENCH_COMPARE_HISTORY_SERIES_H
#define BENCH_COMPARE_HISTORY_SERIES_H

#include "results/record.h"

typedef struct history_step {
    size_t run;   /* first run of the new level */
    double ratio; /* new level over the one before */
} history_step_t;

typedef struct history_point {
    double median, low, high; /* ns; 95 % interval of the median */
    double level;             /* ns: what the step fit says */
} history_point_t;

typedef struct history_series {
    char *id, *phase;
    size_t n_runs;
    history_point_t *points; /* for each run; NaN where it has no times of the case */
    history_step_t *steps;
    size_t n_steps, n_times;
} history_series_t;

typedef struct history_list {
    history_series_t *items;
    size_t n, capacity;
} history_list_t;

/* Every case that any run has, in the order of their appearance, with the phases asked for (none:
 * host_to_host or total, and the kernel's). */
history_list_t history_collect(const record_t *runs, size_t n_runs, const text_list_t *phases,
                               const char *case_id);
/* Fit steps (stats/changepoints.h) to logarithms of medians; steps of less than `least_frac` are
 * no steps. */
void history_fit(history_series_t *series, double least_frac);
/* Is it shown? Those without a step only where all are asked for. */
bool history_is_told(const history_series_t *series, bool all);
/* The first and the last level; NaN without times. */
void history_ends(const history_series_t *series, double *first, double *last);
void history_list_free(history_list_t *list);

#endif
