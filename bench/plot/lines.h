/* What plots/lines.gp draws: a line a contender over all sizes, both axes logarithmic, and
 * perhaps dashed lines of limits. */
#ifndef BENCH_PLOT_LINES_H
#define BENCH_PLOT_LINES_H

#include "plot/axes.h"

enum { MAX_LINES = 32, MAX_LIMITS = 4 };

typedef enum weight { WEIGHT_USUAL, WEIGHT_THIN, WEIGHT_THICK } weight_t;

enum { MAX_ROLES = 4 };

typedef struct line {
    const series_t *series;
    const char *phase;
    weight_t weight;
    const char *roles[MAX_ROLES]; /* "fastest CUDA": behind its name in the legend; borrowed */
    size_t n_roles;
} line_t;

typedef struct limit_line {
    double *ns;        /* one a size of the data, NaN where unknown */
    const char *title; /* kept by the chart */
    int style;
} limit_line_t;

typedef struct lines {
    line_t items[MAX_LINES];
    size_t n;
    limit_line_t limits[MAX_LIMITS];
    size_t n_limits;
} lines_t;

/* Adds nothing for a NULL series or one without times for the phase; to a series that is there
 * already only the role. `role` may be NULL. */
void lines_add(lines_t *lines, const series_t *series, const char *phase, const char *role);
/* How thick the line of a series is drawn, if it has one. Algorithmic ones are dashed besides. */
void lines_weigh(lines_t *lines, const series_t *series, weight_t weight);
/* Another dashed line; takes over `ns`, and drops a line without any number. */
void lines_limit(lines_t *lines, const plot_data_t *data, double *ns, const char *title, int style);
/* The least that the hardware allows at each size, for an engine's cases; nothing where none is
 * known. (plot/charts/ladder.c) */
void lines_add_limits(lines_t *lines, const plot_data_t *data, const char *label, chart_t *chart);
/* Table, styles, ranges and size; frees the lines. */
void lines_write(lines_t *lines, const plot_data_t *data, chart_t *chart);

#endif
