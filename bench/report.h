/* `bench report`: REPORT.md from one or more runs and their charts: a pure function of the files in
 * results/. No sentence that the numbers do not carry. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "steps/results.h"

typedef struct report_options {
    const char *const
        *runs; /* folders; the first is this machine's, later ones are shown as saved */
    size_t n_runs;
    const char *out;  /* REPORT.md */
    const char *root; /* the project's folder, for links and plots/<run>/ */
} report_options_t;

status_t report_write(const report_options_t *options, error_t *err);

/* The headline table alone, as text for a terminal; the caller frees it. */
status_t report_headline(const run_record_t *run, char **text, error_t *err);

#endif
