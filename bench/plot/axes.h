/* The charts, one builder each. A builder fills in a chart (chart_init() first) and returns NULL,
 * or returns why the data cannot be charted, as text that the caller frees. Cases that are wrong,
 * failed or skipped are NaN rows with their status; throttled ones are drawn hollow. */
#ifndef BENCH_PLOT_AXES_H
#define BENCH_PLOT_AXES_H

#include "plot/gnuplot.h"
#include "plot/source.h"

typedef char *chart_build_t(const plot_data_t *data, chart_t *chart);

/* Phases of one sample, stacked, with their shares as numbers below: of the engine's set-up of the study, else of its
 * fastest. */
char *chart_phases(const plot_data_t *data, const char *engine, chart_t *chart);
/* "medians, 95 % intervals over passes"; "medians of one pass": fewer than 5 have no interval. */
bool chart_has_intervals(const plot_data_t *data);
const char *chart_medians(chart_t *chart, const plot_data_t *data);
/* "95 % intervals over passes", "… and up to 4 boots": those that have a case of the chart. */
const char *chart_ratio_intervals(chart_t *chart, const plot_data_t *data);
/* "  ·  hollow: throttled" if a case is; else "". */
const char *chart_hollow(const plot_data_t *data);
/* Time against size for both sides, with 95 % intervals of the medians. */
chart_build_t chart_total, chart_host_to_host;
/* Compute time of each rung against size with the hardware limit. */
chart_build_t chart_ladder;
/* Each engine's fastest as ratios to the strongest rival, against size. */
chart_build_t chart_speed;
/* Operations per second over operations per byte, under the measured roofs. */
chart_build_t chart_roofline;
/* Ours − a rival per size: `total` of the study's two set-ups. */
chart_build_t chart_difference;
/* Time of each part of a call or a step, at the `size` that the most contenders have, the largest of equals; how many. */
chart_build_t chart_operations;
size_t operations_contenders(const plot_data_t *data, int64_t *size);
/* Trainings: the loss over epochs or steps, of the first seed, and its difference from the reference. */
chart_build_t chart_loss;
/* Trainings by whole epochs: split of the time by allocator. */
chart_build_t chart_allocators;

/* The distribution of one case's samples, and their order. `phase` NULL: the phase that the case is
 * compared by. */
char *chart_samples(const case_result_t *result, const char *phase, chart_t *chart);

/* ---- shared by the builders ------------------------------------------------------------------ */

enum {
    CHART_WIDTH = 1040, /* pixels; also points of the SVG */
    CHART_HEIGHT = 620,
    /* Line types of plots/style.gp that no contender has. */
    STYLE_LIMIT = 20,
    STYLE_PHASES = 21, /* the first */
    STYLE_BOUNDS = 46, /* of a training: limits/limits.h */
    STYLE_PARTS = 140, /* MOST_PARTS */
    STYLE_SPLIT = 58,  /* kernels, driver, gaps */
};

/* "64", "2²²", "5 k", "50 M": a size on axes and in tables. `text` has UNITS_TEXT bytes. */
const char *chart_size_text(char *text, int64_t size);

/* The same, but with all digits if no size of the data has more than five: "1024". */
const char *chart_size_in(char *text, const plot_data_t *data, int64_t size);

/* "width 784": the title of a panel; lives as long as the chart. */
const char *chart_size_title(chart_t *chart, const plot_data_t *data, int64_t size);

/* Write the numbers `size_base`, `size_plain` (no size has more than five digits), `size_ticks`,
 * `size_low`, `size_high` of a logarithmic size axis: powers of two, or the round sizes. Returns
 * the number of ticks. */
size_t chart_size_axis(chart_t *chart, const plot_data_t *data);

/* Smallest and largest positive value, for a log axis. Start with RANGE_INIT. */
typedef struct range {
    double low, high;
} range_t;
#define RANGE_INIT                                                                                 \
    { INFINITY, 0 }
void range_take(range_t *range, double value); /* ignores NaN and values up to 0 */
/* Write `y_from` and `y_to`, the ends of a logarithmic axis in µs around a range in ns, and `y_low` and `y_high`: exponents
 * of the decades around them. */
void chart_time_axis(chart_t *chart, const range_t *seen_ns);
/* Write `width`, enough for `n_bars` bars side by side, and `height`. */
void chart_size(chart_t *chart, size_t n_bars, int height);

/* The titles in a legend under the plot. Start with zeros. */
typedef struct legend {
    size_t n, longest; /* letters */
} legend_t;
void legend_take(legend_t *legend, const char *title);
/* Write `legend_columns` (two if they fit a chart of `n_bars` bars, else one), `legend_spread` (the
 * width of gnuplot's key) and `legend_height`, which is returned: pixels to keep free. */
int chart_legend(chart_t *chart, const legend_t *legend, size_t n_bars);

/* Data of plots/lines.gp: one line per contender over all sizes, both axes logarithmic, and
 * optional dashed limits. */

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
