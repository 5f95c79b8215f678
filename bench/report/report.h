/* `bench report`: REPORT.md from one or more runs and their charts: a pure function of the files in
 * results/. No sentence that the numbers do not carry. */
#ifndef BENCH_REPORT_REPORT_H
#define BENCH_REPORT_REPORT_H

#include "results/record.h"

#include <stdio.h>

typedef struct report_options {
    const char *const
        *runs; /* folders; the first is this machine's, later ones are shown as saved */
    size_t n_runs;
    const char *out;  /* REPORT.md */
    const char *root; /* the project's folder, for links and plots/<run>/ */
} report_options_t;

status_t report_write(const report_options_t *options, error_t *err);

/* A table for each workload of the run, or for one of them (NULL: all), as text for a terminal; the
 * caller frees it. */
char *report_workload_tables(const record_t *run, const char *workload);

typedef enum report_view {
    REPORT_HEADLINE,  /* one table over the workloads of all runs, which it calls saved */
    REPORT_WORKLOADS, /* one table for each workload of each run */
} report_view_t;

/* Print instead of writing a report; `folders` are of runs. */
status_t report_print(const char *const *folders, size_t n, report_view_t view, FILE *out,
                      error_t *err);

#endif
