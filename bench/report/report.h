/* `bench report`: write REPORT.md from the files of one or more runs and their charts. */
#ifndef BENCH_REPORT_REPORT_H
#define BENCH_REPORT_REPORT_H

#include "results/record.h"

#include <stdio.h>

typedef struct report_options {
    const char *const *runs; /* folders; see report_write() */
    size_t n_runs;
    const char *out;  /* REPORT.md */
    const char *root; /* the project's folder, for links and plots/<run>/ */
} report_options_t;

/* The first run is the page, further ones follow as saved runs. A run that
 * boots_match() an earlier one is another boot of it (report/boots.h). */
status_t report_write(const report_options_t *options, error_t *err);

/* Tables for a terminal: of one workload of the run, or of all (NULL). The caller frees them. */
char *report_workload_tables(const record_t *run, const char *workload);

typedef enum report_view {
    REPORT_HEADLINE,  /* one table for all runs, labelled as saved */
    REPORT_WORKLOADS, /* one table for each workload of each run */
} report_view_t;

/* Print tables of the runs in `folders` instead of writing a report. */
status_t report_print(const char *const *folders, size_t n, report_view_t view, FILE *out,
                      error_t *err);

#endif
