/* The charts, one builder each. A builder fills in a chart (chart_init() first) and returns
 * NULL, or returns why the data cannot carry the chart, as text that the caller frees. Cases that
 * are wrong, failed or skipped are NaN rows with their status; throttled ones are marked to be
 * drawn hollow. */
#ifndef BENCH_PLOT_AXES_H
#define BENCH_PLOT_AXES_H

#include "plot/gnuplot.h"
#include "plot/source.h"

typedef char *chart_build_t(const plot_data_t *data, chart_t *chart);

/* Phases of one sample, stacked; their exact shares as numbers below. */
chart_build_t chart_phases_cuda, chart_phases_pytorch, chart_phases_cpu;
/* Time against size for both sides, with 95 % intervals of the medians. */
chart_build_t chart_total, chart_host_to_host;
/* Each rung's compute time against size, with the hardware limit; and a panel of bars a size. */
chart_build_t chart_ladder, chart_ladder_batch;
/* Combinations of host techniques, a panel of bars a size. */
chart_build_t chart_techniques;
/* Every contender's time against size; and each side's best, as ratios to PyTorch's. */
chart_build_t chart_times, chart_speed;
/* CUDA − PyTorch a size: `total` of the study's two set-ups; `host_to_host` of the fastest of
 * both at each size. */
chart_build_t chart_difference, chart_difference_best;
/* What is paid once, by contender. */
chart_build_t chart_once;
/* Of trainings: the loss over epochs and its distance from the oracle's; the time of each operation
 * of an epoch. */
chart_build_t chart_loss, chart_operations;
/* Their like for a training from several seeds, and for one whose steps have stages of their own:
 * the two above hand over to them. */
chart_build_t chart_loss_of_seeds, chart_stages;

/* Of trainings by whole epochs: the time of one by contender; loss and accuracy on the test images
 * after each; where the time goes with each allocator, and how often it calls the driver. */
chart_build_t chart_epoch, chart_accuracy, chart_allocators, chart_driver_calls;
/* What an allocation and a free take, by the number of blocks in use. */
chart_build_t chart_blocks;

/* The distribution of one case's samples, and their order. `phase` NULL: what the case is compared
 * by. */
char *chart_samples(const case_result_t *result, const char *phase, chart_t *chart);

/* ---- what builders share --------------------------------------------------------------------- */

enum {
    CHART_WIDTH = 1040, /* pixels; also points of the SVG */
    CHART_HEIGHT = 620,
    /* Line types of plots/style.gp that belong to no contender. */
    STYLE_LIMIT = 20,
    STYLE_PHASES = 21, /* the first of them */
    STYLE_OPERATIONS = 41,
    STYLE_BOUNDS = 46, /* of a training, see limit_lines.h */
    STYLE_PARTS = 52,  /* of a step, see analysis/step_parts.h */
    STYLE_SPLIT = 58,  /* kernels, driver, gaps */
    STYLE_CALLS = 61,  /* of the driver: first epoch, later ones */
    STYLE_BLOCKS = 63, /* allocation, free */
};

/* "64", "2²²", "5 k", "50 M": as axes and tables of charts show a size. `text` has UNITS_TEXT
 * bytes. */
const char *chart_size_text(char *text, int64_t size);

/* The same, but with all digits where the data's sizes have no more than five: "1024". */
const char *chart_size_in(char *text, const plot_data_t *data, int64_t size);

/* "width 784": a panel's title, which lives as long as the chart. */
const char *chart_size_title(chart_t *chart, const plot_data_t *data, int64_t size);

/* A block of the table, its first: a title a panel, each of which shows a size. */
void chart_panel_titles(chart_t *chart, const plot_data_t *data, const int64_t *sizes, size_t n);

/* What becomes of the table's blocks of curves: each belongs to a panel, and has a line type and
 * some look of the script's. Those of the legend come last, as of a panel behind all others. */
enum { MAX_BLOCKS = 160 };
typedef struct blocks {
    int panels[MAX_BLOCKS], styles[MAX_BLOCKS], looks[MAX_BLOCKS];
    size_t n, n_drawn; /* n_drawn: without the legend's */
} blocks_t;
/* False when there is room for no more. */
bool blocks_add(blocks_t *blocks, size_t panel, int style, int look);
/* Numbers `panels`, `styles`, `look` by its name, `n_blocks`, `n_drawn`, `n_panels`. */
void blocks_write(const blocks_t *blocks, const char *look, size_t n_panels, chart_t *chart);

/* Numbers `size_base`, `size_plain` (has no size more than five digits?), `size_ticks`, `size_low`,
 * `size_high` of a logarithmic axis of sizes: powers of two, or the round ones among the sizes.
 * Returns how many ticks it has. */
size_t chart_size_axis(chart_t *chart, const plot_data_t *data);

/* Smallest and largest positive value seen, for a log axis. Start with RANGE_INIT. */
typedef struct range {
    double low, high;
} range_t;
#define RANGE_INIT                                                                                 \
    { INFINITY, 0 }
void range_take(range_t *range, double value); /* NaN and values up to 0 are passed over */
/* Numbers `y_low` and `y_high`: exponents of the decades around a range in ns, for an axis in µs.
 */
void chart_time_axis(chart_t *chart, const range_t *seen_ns);
/* Width for so many bars side by side, and numbers `width` and `height`. */
void chart_size(chart_t *chart, size_t n_bars, int height);

/* The titles of a legend under the plot of plots/lines.gp or loss.gp. Start with zeros. */
typedef struct legend {
    size_t n, longest; /* letters */
} legend_t;
void legend_take(legend_t *legend, const char *title);
/* Two columns where they fit a chart of so many bars, else one: numbers `legend_columns`,
 * `legend_spread` (the key's width for gnuplot) and `legend_height`, which is returned: pixels to
 * be kept free. */
int chart_legend(chart_t *chart, const legend_t *legend, size_t n_bars);

#endif
