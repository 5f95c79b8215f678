/* The runs of a report: each with its other boots, and divided into workloads. */
#ifndef BENCH_REPORT_SHOWN_H
#define BENCH_REPORT_SHOWN_H

#include "report/headline.h"

/* One workload of a run. Comparisons are computed once because it takes long. */
typedef struct shown_part {
    const char *workload;       /* borrowed */
    record_t steady;            /* the run with its cases and the device's alone, no cold starts */
    comparison_set_list_t sets; /* of `steady`; empty without sizes to compare */
    size_t n_cases;             /* of the workload in `steady` */
    boots_t boots;              /* those of the run that have the workload */
} shown_part_t;

typedef struct shown_run {
    record_t whole;
    boots_t boots; /* other runs of its sweeps */
    shown_part_t *parts;
    size_t n_parts;
} shown_run_t;

typedef struct shown_list {
    shown_run_t *items;
    size_t n;
    record_t **boots; /* those of the items borrow from here */
    size_t n_boots;
} shown_list_t;

/* A run with the sweeps of an earlier one becomes another boot of it; STATUS_INCOMPARABLE if it is none
 * of the same machine. A run that has only cases of others, wherever they are named, becomes another boot
 * of each. The list, of zeros, is to be freed after a failure, too. */
status_t shown_load(const char *const *folders, size_t n, shown_list_t *list, error_t *err);
void shown_list_free(shown_list_t *list);

/* Fill in the parts of `shown->whole`, of one workload or of all (NULL). */
void shown_select(shown_run_t *shown, const char *only);
void shown_free_parts(shown_run_t *shown);
headline_part_t shown_headline_part(const shown_part_t *part);

/* "NVIDIA H200", else the CPU's name; "2026-03-02". Safe for markdown. */
const char *shown_machine(const report_t *report, const record_t *run);
const char *shown_date(const report_t *report, const record_t *run);
/* "2026-11-26 to 2026-11-27"; empties the list. */
const char *report_dates(const report_t *report, text_list_t *dates);
/* "git 1a2b3c with uncommitted changes": what this program was built from. */
const char *revision_text(const report_t *report, const record_t *run);

#endif
