/* The top page of a report: a picture, a table, where we do not win, the machine and the method, all pages. */
#ifndef BENCH_REPORT_TOP_H
#define BENCH_REPORT_TOP_H

#include "report/shown.h"

enum { TOP_ROWS = HEADLINE_ROWS };

/* One workload of one run. */
typedef struct top_part {
    const shown_run_t *shown;
    const shown_part_t *part;
    headline_part_t headline;
    const char *href; /* of its page, as it is linked */
    const char *name; /* "softmax"; with the run, as headline.when, if two have the workload */
} top_part_t;

typedef struct top {
    const shown_list_t *runs;
    const top_part_t *parts;
    size_t n_parts;
    const char *picture;  /* its file, as it is linked; NULL: none */
    char *const *command; /* that prints this report again */
    size_t n_command;
} top_t;

void top_page(const report_t *report, const top_t *top);
/* The picture of all workloads, an SVG; NULL: no size has a ratio. With `anchors`, one per part, each bar leads there. The
 * caller frees it. */
char *top_picture(const report_t *report, const top_t *top, const char *const *anchors);

#endif
