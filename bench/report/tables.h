/* The tables of a workload's page: six at most, each of all its comparison sets. A table without rows is not printed. */
#ifndef BENCH_REPORT_TABLES_H
#define BENCH_REPORT_TABLES_H

#include "report/words.h"

void table_by_size(const report_t *report, const views_t *views);
void table_of_phases(const report_t *report, const views_t *views);
void table_of_ladder(const report_t *report, const views_t *views);
void table_of_parts(const report_t *report, const comparison_set_list_t *sets);
void table_of_contenders(const report_t *report, const char *workload);
void table_of_compilations(const report_t *report);
/* Of a workload without sets: every case with its time. */
void table_of_times(const report_t *report, const char *workload);

#endif
