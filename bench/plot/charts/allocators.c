/* allocators: time split of an epoch by allocator. */
#include "analysis/learning.h"
#include "base/memory.h"
#include "base/units.h"
#include "plot/axes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With a larger ratio the short rows are unreadable on a linear axis. */
static const double LINEAR_RATIO = 20;

/* ---- panels of horizontal rows: a row is a sequence of pieces with a text after it -------------- */

enum { MAX_PANELS = 8, PANEL_COLUMNS = 2, N_PIECES = 3 };

typedef struct panel {
    const char *title, *axis; /* kept by the chart */
    text_list_t rows, texts;  /* its blocks of the table */
    double least, most;       /* ends of rows, in the axis's unit */
    double end; /* last tick of a linear axis; 0: that of its values, logarithmic if the chart is */
    double at;  /* start of the row's next piece */
} panel_t;

typedef struct panels {
    chart_t *chart; /* borrowed; its table takes the labels */
    bool logarithmic;
    panel_t items[MAX_PANELS];
    size_t n;
    const series_t **shown; /* in rows; NULL: a free row */
    size_t n_rows;
} panels_t;

static panel_t *add_panel(panels_t *panels, const char *title, const char *axis, double end) {
    panel_t *panel = &panels->items[panels->n++];
    *panel = (panel_t){.title = title, .axis = axis, .end = end, .least = INFINITY};
    return panel;
}

static void add_piece(panel_t *panel, size_t row, double length, int style) {
    if (!(length > 0))
        return;
    text_list_add_format(&panel->rows, "%zu %.9g %.9g %d", row, panel->at, panel->at + length,
                         style);
    panel->at += length;
}

/* End a row of pieces. */
static void end_row(panel_t *panel, chart_t *chart, size_t row, const char *text) {
    text_list_add_format(&panel->texts, "%zu %.9g %s", row, panel->at, chart_quote(chart, text));
    if (panel->at > 0)
        panel->least = fmin(panel->least, panel->at);
    panel->most = fmax(panel->most, panel->at);
    panel->at = 0;
}

static void write_block(chart_t *chart, const char *columns, text_list_t *rows) {
    chart_row(chart, "\n\n%s", columns);
    for (size_t i = 0; i < rows->n; i++)
        chart_row(chart, "%s", rows->items[i]);
    text_list_free(rows);
}

/* With room after the longest row for its text. */
static void write_axes(const panels_t *panels) {
    double lows[MAX_PANELS], highs[MAX_PANELS], tops[MAX_PANELS];
    int logarithmic[MAX_PANELS];
    for (size_t p = 0; p < panels->n; p++) {
        const panel_t *panel = &panels->items[p];
        const double most = panel->most > 0 ? panel->most : 1;
        logarithmic[p] = panels->logarithmic && panel->end <= 0;
        lows[p] = logarithmic[p] ? pow(10, floor(log10(fmin(panel->least, most) / 1.1))) : 0;
        highs[p] = logarithmic[p] ? most * pow(most / lows[p], 0.6)
                                  : 1.5 * (panel->end > 0 ? panel->end : most);
        tops[p] = panel->end > 0 ? panel->end : highs[p];
    }
    chart_reals(panels->chart, "lows", lows, panels->n);
    chart_reals(panels->chart, "highs", highs, panels->n);
    chart_reals(panels->chart, "tops", tops, panels->n);
    chart_integers(panels->chart, "logarithmic", logarithmic, panels->n);
}

static void write_panels(panels_t *panels) {
    enum { FRAME_HEIGHT = 136, LINE_HEIGHT = 100, ROW_HEIGHT = 18 };
    chart_t *chart = panels->chart;
    const size_t n_lines = (panels->n + PANEL_COLUMNS - 1) / PANEL_COLUMNS;
    chart_row(chart, "\n\n# panels\npanel title axis");
    for (size_t p = 0; p < panels->n; p++)
        chart_row(chart, "%zu %s %s", p, chart_quote(chart, panels->items[p].title),
                  chart_quote(chart, panels->items[p].axis));
    for (size_t p = 0; p < panels->n; p++) {
        write_block(chart, "row from to style", &panels->items[p].rows);
        write_block(chart, "row at text", &panels->items[p].texts);
    }
    write_axes(panels);
    chart_numbers(chart, "n_panels=%zu n_columns=%d n_rows=%zu first_style=%d", panels->n,
                  PANEL_COLUMNS, panels->n_rows, STYLE_SPLIT);
    chart_numbers(chart, "width=%d height=%zu", CHART_WIDTH,
                  FRAME_HEIGHT + n_lines * (LINE_HEIGHT + ROW_HEIGHT * panels->n_rows));
    free(panels->shown);
}

/* ---- the split ------------------------------------------------------------------------------- */

static const char *allocator_name(const series_t *series) {
    const char *name = allocator_of(&series->cases[0]->spec);
    return name != NULL ? name : "";
}

/* "CUDA 03_registers": the contender without its allocator. */
static const char *plain_title(const series_t *series, chart_t *chart) {
    return allocator_of(&series->cases[0]->spec) == NULL
               ? series->title
               : series_title_of(&chart->texts, series, series->variant);
}

static bool same_variant(const series_t *a, const series_t *b) {
    return strcmp(a->label, b->label) == 0 && strcmp(a->variant, b->variant) == 0;
}

static bool split_at(const series_t *series, int64_t size, time_split_t *split) {
    const case_result_t *result = series_at(series, size);
    return result != NULL && time_split_of(result, split);
}

static bool has_split(const plot_data_t *data, const series_t *series) {
    time_split_t split;
    for (size_t i = 0; i < data->n_sizes; i++)
        if (split_at(series, data->sizes[i], &split))
            return true;
    return false;
}

static void add_pieces(panel_t *panel, size_t row, const time_split_t *split, double unit_ns) {
    add_piece(panel, row, split->kernels_ns / unit_ns, STYLE_SPLIT);
    add_piece(panel, row, split->driver_ns / unit_ns, STYLE_SPLIT + 1);
    add_piece(panel, row, split->gaps_ns / unit_ns, STYLE_SPLIT + 2);
}

static void write_split(panels_t *panels, panel_t *times, panel_t *shares, size_t row,
                        int64_t size) {
    time_split_t split;
    char text[UNITS_TEXT];
    chart_t *chart = panels->chart;
    const case_result_t *result = series_at(panels->shown[row], size);
    if (result == NULL)
        return;
    if (!time_split_of(result, &split)) {
        end_row(times, chart, row,
                result_has_times(result) ? "" : case_status_name(result->status));
        return;
    }
    add_pieces(times, row, &split, 1e6);
    end_row(times, chart, row, units_time(text, split.epoch_ns));
    add_pieces(shares, row, &split, split.epoch_ns / 100);
    units_percent(text, split.kernels_ns / split.epoch_ns);
    end_row(shares, chart, row, chart_format(chart, "GPU busy %s", text));
}

/* Longest epoch / shortest. */
static double ratio_at(const plot_data_t *data, int64_t size) {
    range_t range = RANGE_INIT;
    time_split_t split;
    for (size_t s = 0; s < data->n_series; s++)
        if (split_at(&data->series[s], size, &split))
            range_take(&range, split.epoch_ns);
    return range.high > 0 ? range.high / range.low : 1;
}

/* Series with a split; one free row between rungs. */
static void show_splits(const plot_data_t *data, panels_t *panels) {
    enum { NAME_X = 16, ALLOCATOR_X = 210 };
    chart_t *chart = panels->chart;
    const series_t *last = NULL;
    panels->shown = mem_zeroed(2 * data->n_series + 1, sizeof *panels->shown);
    chart_row(chart, "# labels: x in pixels\nrow x text");
    for (size_t s = 0; s < data->n_series; s++) {
        const series_t *series = &data->series[s];
        if (!has_split(data, series))
            continue;
        const bool another = last == NULL || !same_variant(last, series);
        panels->n_rows += last != NULL && another;
        const char *name = another ? plain_title(series, chart) : "";
        chart_row(chart, "%zu %d %s", panels->n_rows, NAME_X, chart_quote(chart, name));
        chart_row(chart, "%zu %d %s", panels->n_rows, ALLOCATOR_X,
                  chart_quote(chart, allocator_name(series)));
        panels->shown[panels->n_rows++] = series;
        last = series;
    }
}

static void write_splits(const plot_data_t *data, int64_t size, panels_t *panels) {
    chart_t *chart = panels->chart;
    const char *title = chart_size_title(chart, data, size);
    panel_t *times = add_panel(
        panels, chart_format(chart, "%s: one epoch", title),
        panels->logarithmic ? "time, ms (log: compare shares at the right)" : "time, ms", 0);
    panel_t *shares =
        add_panel(panels, chart_format(chart, "%s: shares", title), "share of the epoch, %", 100);
    for (size_t row = 0; row < panels->n_rows; row++)
        if (panels->shown[row] != NULL)
            write_split(panels, times, shares, row, size);
}

char *chart_allocators(const plot_data_t *data, chart_t *chart) {
    chart_init(chart, "allocators");
    panels_t panels = {.chart = chart};
    show_splits(data, &panels);
    if (panels.n_rows == 0) {
        free(panels.shown);
        return mem_text("no case recorded the time split of an epoch");
    }
    chart->note = chart_format(chart,
                               "%s  ·  an extra epoch under CUPTI, which adds overhead  ·  GPU "
                               "busy: kernel time / epoch",
                               data->shape);
    const size_t first = plot_first_size(data, MAX_PANELS / PANEL_COLUMNS);
    for (size_t i = first; i < data->n_sizes; i++)
        panels.logarithmic = panels.logarithmic || ratio_at(data, data->sizes[i]) > LINEAR_RATIO;
    for (size_t i = first; i < data->n_sizes; i++)
        write_splits(data, data->sizes[i], &panels);
    write_panels(&panels);
    return NULL;
}
