/* The parts of pages: warnings, tables, the environment; and everything about one case. */
#ifndef BENCH_REPORT_SECTIONS_H
#define BENCH_REPORT_SECTIONS_H

#include "report/words.h"

#include <stdio.h>

typedef struct status_counts {
    size_t all, of[CASE_IMPLAUSIBLE + 1];
} status_counts_t;

/* Without calibration, and without cases that a variant leaves out by design. */
void count_status(status_counts_t *counts, const case_result_t *result);
status_counts_t count_statuses(const record_t *run);
/* "6 ok, 3 skipped" */
const char *statuses_text(const report_t *report, const status_counts_t *counts);

/* What limits the trust in the numbers. */
void section_warnings(const report_t *report);

/* The recorded environment, the device as it was measured, and how to measure a run again, or one of its cases: commands
 * are called in the project's folder. */

void section_environment(const report_t *report);
void section_device(const report_t *report);
void section_reproduce(const report_t *report);
/* "    bench run 'a b.json'": quoted for a POSIX shell; indented, because a fenced block could be closed
 * by its content. */
void print_command(const report_t *report, char *const *arguments, size_t n);

/* The words of the command that measures a run again, into a folder of its own; empty if it did not record how it was
 * called. */
text_list_t command_again(const char *program, const record_t *run);
/* The command that measures a case of a run alone, for a shell; the caller frees it. */
char *command_of_case(const char *program, const record_t *run, const case_t *spec);

/* The tables of a workload's page: six at most, each of all its comparison sets. A table without rows is not printed. */

void table_by_size(const report_t *report, const views_t *views);
void table_of_phases(const report_t *report, const views_t *views);
void table_of_ladder(const report_t *report, const views_t *views);
void table_of_parts(const report_t *report, const comparison_set_list_t *sets);
void table_of_contenders(const report_t *report, const char *workload);
void table_of_compilations(const report_t *report);
/* Of a workload without sets: every case with its time. */
void table_of_times(const report_t *report, const char *workload);

/* Everything about one case on one screen: for `bench run` of a few cases, and for the HTML report. */

/* Status and reason, device, checks, phases with their intervals and quantiles, trust, limit, one-time
 * costs, program with the hash of its code, passes, flags; and an empty line. */
void case_text_print(FILE *out, const case_result_t *result);

#endif
