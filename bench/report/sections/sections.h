/* Sections and findings for all workloads. Each prints nothing if the run has no data for it. */
#ifndef BENCH_REPORT_SECTIONS_H
#define BENCH_REPORT_SECTIONS_H

#include "report/page.h"

/* limits.c: share of the limit at `reference` (-1: the largest size); computation alone; time
 * outside the kernel; one-time costs. */
void finding_limit(const report_t *report, const comparison_set_t *set, int64_t reference);
void finding_compute(const report_t *report, const comparison_set_t *set);
void finding_outside_kernel(const report_t *report, const comparison_set_t *set);
void finding_once(const report_t *report, const comparison_set_t *set);

/* environment.c */
void section_environment(const report_t *report);
void section_device(const report_t *report);

/* cases.c: for the cases of the page, for one workload. */
typedef struct status_counts {
    size_t all, of[CASE_IMPLAUSIBLE + 1];
} status_counts_t;

/* Without calibration, and without cases that a variant leaves out by design. */
status_counts_t count_statuses(const record_t *run);
void section_cases(const report_t *report);
void section_cold(const report_t *report, const char *workload);
void section_once(const report_t *report, const char *workload);
void section_checks(const report_t *report, const char *workload);
void section_resources(const report_t *report, const char *workload);

/* draws.c */
void section_draws(const report_t *report);

/* warnings.c */
void section_warnings(const report_t *report);
void section_flags(const report_t *report);
void section_sanitize(const report_t *report, const char *workload);

/* files.c: lines, tables and charts that were edited since, and cases that have no line. */
void section_files(const report_t *report);

/* charts.c: of one workload. */
void section_charts(const report_t *report, const char *workload);

/* method.c */
void section_reproduce(const report_t *report);
void section_method(const report_t *report);
/* "    bench run 'a b.json'": quoted for a POSIX shell; indented, because a fenced block could be closed
 * by its content. */
void print_command(const report_t *report, char *const *arguments, size_t n);

#endif
