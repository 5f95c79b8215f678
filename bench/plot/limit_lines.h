/* The bounds of a training (limits/limits.h) as lines of a chart. */
#ifndef BENCH_PLOT_LIMIT_LINES_H
#define BENCH_PLOT_LIMIT_LINES_H

#include "limits/limits.h"
#include "plot/lines.h"

/* Does the workload have these bounds? */
bool has_training_bounds(const plot_data_t *data);
/* Add a dashed line for each known bound. Returns their arithmetic at one size for the chart's
 * note, each on a line after a line break; the chart owns it. */
const char *lines_add_bounds(lines_t *lines, const plot_data_t *data, chart_t *chart);

#endif
