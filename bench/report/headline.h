/* The headline: our fastest case against the fastest rival, per workload at selected sizes. Used
 * for the last screen of a run, the first table of a report and the saved headline. */
#ifndef BENCH_REPORT_HEADLINE_H
#define BENCH_REPORT_HEADLINE_H

#include "report/words.h"

enum { HEADLINE_ROWS = 12, HEADLINE_WORKLOAD_ROWS = 10 };

/* One workload of one run. */
typedef struct headline_part {
    const record_t *run;
    const comparison_set_list_t *sets; /* of the workload */
    const char *when;                  /* "saved 2026-11-21", or the run's name; NULL: not shown */
    const boots_t *boots;              /* of the run; NULL or empty: none */
} headline_part_t;

typedef struct headline_row {
    const headline_part_t *part;
    const comparison_set_t *set;
    const size_row_t *row;
} headline_row_t;

typedef struct headline {
    headline_row_t *rows; /* in the order of the parts, their sets and their sizes */
    size_t n;
    size_t n_omitted; /* for which there was no room */
} headline_t;

/* Select at most `most` rows, from each part in turn. A set's reference size comes first, then its
 * largest, its smallest, those around a change of lead, and sizes in between; of a single part, last,
 * those without a ratio that both sides were run at. Omitted: other sizes without a rival's time (unless
 * the whole part has none), sets without any time or that differ from an earlier one only in the seed, and
 * trainings timed by operation. The parts must outlive the headline. */
headline_t headline_select(const headline_part_t *parts, size_t n_parts, size_t most);
/* Of each set that a headline of several parts shows, the row that it would select first. */
headline_t headline_leads(const headline_part_t *part);
const char *headline_caveat(const char *workload); /* see workload_t; or NULL */
void headline_free(headline_t *headline);

/* A table for a terminal: what rows have in common stands above them, what has no column in lines below. "" if there
 * are no rows. The caller frees it. */
char *headline_text(const headline_t *headline);

/* Print a line for each row that has a ratio. */
void headline_lines(const report_t *report, const headline_t *headline);

/* "f32", "depth=3, tf32": only parameters that differ from the default. */
const char *headline_setting(const report_t *report, const headline_row_t *row);

#endif
