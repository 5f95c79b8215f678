/* Data of plots/lines.gp: one line per contender over all sizes, both axes logarithmic, and
 * optional dashed limits. */
#ifndef BENCH_PLOT_LINES_H
#define BENCH_PLOT_LINES_H

#include "plot/axes.h"

enum { MAX_LINES = 32, MAX_LIMITS = 4, MAX_ROLES = 4 };

typedef struct line {
    const series_t *series;
    const char *phase;
    const char *roles[MAX_ROLES]; /* "fastest CUDA": after its name in the legend; borrowed */
    size_t n_roles;
} line_t;

typedef struct limit_line {
    double *ns;        /* one per size of the data, NaN if unknown */
    const char *title; /* kept by the chart */
    int style;
} limit_line_t;

typedef struct lines {
    line_t items[MAX_LINES];
    size_t n;
    limit_line_t limits[MAX_LIMITS];
    size_t n_limits;
} lines_t;

/* Ignores a NULL series and one without times for the phase; adds only the role to a series that
 * already has a line. `role` may be NULL. The line of a different algorithm is dashed. */
void lines_add(lines_t *lines, const series_t *series, const char *phase, const char *role);
/* Add a dashed line; takes ownership of `ns`. A line without any number is dropped. */
void lines_limit(lines_t *lines, const plot_data_t *data, double *ns, const char *title, int style);
/* Add the hardware limit at each size for an engine's cases, if known. */
void lines_add_limits(lines_t *lines, const plot_data_t *data, const char *label, chart_t *chart);
/* Is the workload a training with lower bounds (training_bound())? */
bool has_training_bounds(const plot_data_t *data);
/* Add a dashed line for each known bound. Returns their arithmetic at one size for the chart's
 * note, each on a line after a line break; the chart owns it. */
const char *lines_add_bounds(lines_t *lines, const plot_data_t *data, chart_t *chart);
/* Write table, styles, ranges and size; frees the lines. */
void lines_write(lines_t *lines, const plot_data_t *data, chart_t *chart);

#endif
