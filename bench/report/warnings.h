/* What limits the trust in the numbers. Each prints nothing if the run has no reason for it. */
#ifndef BENCH_REPORT_WARNINGS_H
#define BENCH_REPORT_WARNINGS_H

#include "report/words.h"

typedef struct status_counts {
    size_t all, of[CASE_IMPLAUSIBLE + 1];
} status_counts_t;

/* Without calibration, and without cases that a variant leaves out by design. */
void count_status(status_counts_t *counts, const case_result_t *result);
status_counts_t count_statuses(const record_t *run);
/* "6 ok, 3 skipped" */
const char *statuses_text(const report_t *report, const status_counts_t *counts);

void section_warnings(const report_t *report);

#endif
