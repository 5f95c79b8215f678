/* Sections and findings that are the same for every workload. Each prints nothing where the run has
 * nothing for it. */
#ifndef BENCH_REPORT_SECTIONS_H
#define BENCH_REPORT_SECTIONS_H

#include "report/page.h"

/* limits.c: how far the computation is from the limit, at `reference` (-1: the largest size); how
 * fast it is alone; what is paid once; and all of them for mlp_infer. */
void finding_limit(const report_t *report, const comparison_set_t *set, int64_t reference);
void finding_compute(const report_t *report, const comparison_set_t *set);
void finding_once(const report_t *report, const comparison_set_t *set);
void mlp_infer_cost_findings(const report_t *report, const comparison_set_t *set);

/* environment.c */
void section_environment(const report_t *report);
void section_device(const report_t *report);

/* cases.c: of the whole run; of one workload. */
void section_cases(const report_t *report);
void section_cold(const report_t *report);
void section_once(const report_t *report, const char *workload);
void section_checks(const report_t *report, const char *workload);
void section_resources(const report_t *report, const char *workload);

/* warnings.c */
void section_warnings(const report_t *report);
void section_flags(const report_t *report);
void section_sanitize(const report_t *report, const char *workload);

/* charts.c: of no workload by their name; of one. */
void section_charts(const report_t *report);
void section_charts_of(const report_t *report, const char *workload);

/* method.c */
void section_reproduce(const report_t *report);
void section_method(const report_t *report);

#endif
