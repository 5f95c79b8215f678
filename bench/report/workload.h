/* The page of one workload of a run: charts, findings, tables, warnings, the machine. */
#ifndef BENCH_REPORT_WORKLOAD_H
#define BENCH_REPORT_WORKLOAD_H

#include "report/shown.h"

/* Fills in the report's run, whole and boots. */
void workload_page(report_t *report, const shown_run_t *shown, const shown_part_t *part);

#endif
