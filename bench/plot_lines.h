/* What plots/lines.gp draws: a line a contender over all batches, both axes logarithmic, and
 * perhaps a dashed line of limits. */
#ifndef BENCH_PLOT_LINES_H
#define BENCH_PLOT_LINES_H

#include "plot_charts.h"

enum { MAX_LINES = 32 };

typedef struct line {
    const series_t *series;
    const char *phase;
    text_list_t roles; /* "fastest CUDA": behind its name in the legend */
} line_t;

typedef struct lines {
    line_t items[MAX_LINES];
    size_t n;
    double *limits_ns; /* one a batch of the data, NaN where unknown; NULL for no such line */
    char *limit_title;
} lines_t;

/* Adds nothing for a NULL series or one without times for the phase; to a series that is there
 * already only the role. `role` may be NULL. */
void lines_add(lines_t *lines, const series_t *series, const char *phase, const char *role);
/* Table, styles, ranges and size. */
void lines_write(const lines_t *lines, const plot_data_t *data, drawing_t *drawing);
void lines_free(lines_t *lines);

#endif
