/* The page of one workload of a run: charts, findings, tables, warnings, the machine. */
#ifndef BENCH_REPORT_WORKLOAD_H
#define BENCH_REPORT_WORKLOAD_H

#include "report/shown.h"
#include "report/words.h"

/* What the tables of a page say, a sentence each: who is faster, how near to the limit, what techniques bring. */
void section_findings(const report_t *report, const comparison_set_list_t *sets,
                      const views_t *views);

/* Fills in the report's run, whole and boots. */
void workload_page(report_t *report, const shown_run_t *shown, const shown_part_t *part);

#endif
