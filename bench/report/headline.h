/* The comparisons that a reader sees first: of each workload the fastest of ours against the
 * fastest rival, at the sizes that matter. The last screen of a run, the first table of a report
 * and the saved headline are all made here. */
#ifndef BENCH_REPORT_HEADLINE_H
#define BENCH_REPORT_HEADLINE_H

#include "analysis/speedup.h"
#include "io/table.h"

enum { HEADLINE_ROWS = 12, HEADLINE_WORKLOAD_ROWS = 10 };

/* One workload of one run. */
typedef struct headline_part {
    const record_t *run;
    const comparison_set_list_t *sets; /* of the workload */
    const char *when;                  /* "saved 2026-11-21", "2026-11-22"; NULL: not told */
} headline_part_t;

typedef struct headline_row {
    const headline_part_t *part;
    const comparison_set_t *set;
    const size_row_t *row;
} headline_row_t;

typedef struct headline {
    headline_row_t *rows; /* in the order of the parts, their sets and their sizes */
    size_t n;
} headline_t;

/* At most `most` rows, dealt out to the parts in turn. Of a set the reference size comes first,
 * then the largest, the smallest, those around a change of lead, and what lies between. Left out:
 * sizes without a rival's time (where the whole part has none: without any), sets that differ from
 * an earlier one in the seed only, and trainings taken apart into operations. The parts must
 * outlive the headline; the caller frees it. */
headline_t headline_select(const headline_part_t *parts, size_t n_parts, size_t most);
const char *headline_caveat(const char *workload); /* see workload_t; or NULL */
void headline_free(headline_t *headline);

/* What all rows have in common stands in the line above the table, and not in a column. No text for
 * no rows. The caller frees it. */
char *headline_text(const headline_t *headline, table_style_t style);

#endif
