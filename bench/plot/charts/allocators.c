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

/* A line of two panels for each size: an epoch in ms, and its shares. */
enum { MAX_PANELS = 8, PANEL_COLUMNS = 2, N_PIECES = 3 };

typedef struct panels {
    chart_t *chart;
    const series_t **shown; /* in rows; NULL: a free row */
    size_t n_rows, n;
    bool logarithmic; /* the axes of times */
    double lows[MAX_PANELS], highs[MAX_PANELS], tops[MAX_PANELS];
    int are_logarithmic[MAX_PANELS];
} panels_t;

/* ---- the split ------------------------------------------------------------------------------- */

static const char *allocator_name(const series_t *series) {
    const char *name = case_allocator(&series->cases[0]->spec);
    return name != NULL ? name : "";
}

/* "CUDA 03_registers": the contender without its allocator. */
static const char *plain_title(const series_t *series, chart_t *chart) {
    return case_allocator(&series->cases[0]->spec) == NULL
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

/* ---- panels ---------------------------------------------------------------------------------- */

/* The end of a row in a panel: of times in ms, or in per cent of the epoch. */
static double length_of(const time_split_t *split, bool shares) {
    return shares ? 100 : split->epoch_ns / 1e6;
}

static void write_pieces(panels_t *panels, int64_t size, bool shares) {
    chart_row(panels->chart, "\n\nrow from to style");
    for (size_t row = 0; row < panels->n_rows; row++) {
        time_split_t split;
        double at = 0;
        if (panels->shown[row] == NULL || !split_at(panels->shown[row], size, &split))
            continue;
        const double pieces[N_PIECES] = {split.kernels_ns, split.driver_ns, split.gaps_ns};
        for (int i = 0; i < N_PIECES; i++) {
            const double length = pieces[i] / (shares ? split.epoch_ns / 100 : 1e6);
            if (length > 0)
                chart_row(panels->chart, "%zu %.9g %.9g %d", row, at, at + length, STYLE_SPLIT + i);
            at += fmax(length, 0);
        }
    }
}

/* After each row: its time, or the share of kernels; of a case without a split its status. */
static void write_texts(panels_t *panels, int64_t size, bool shares) {
    chart_t *chart = panels->chart;
    chart_row(chart, "\n\nrow at text");
    for (size_t row = 0; row < panels->n_rows; row++) {
        const series_t *series = panels->shown[row];
        const case_result_t *result = series != NULL ? series_at(series, size) : NULL;
        char number[UNITS_TEXT];
        time_split_t split;
        if (result == NULL)
            continue;
        const bool has = time_split_of(result, &split);
        if (!has && shares)
            continue;
        const char *text =
            !has && result_has_times(result) ? ""
            : !has                           ? case_status_name(result->status)
            : !shares                        ? units_time(number, split.epoch_ns)
                                             : chart_format(chart, "GPU busy %s",
                                                            units_percent(number, split.kernels_ns / split.epoch_ns));
        chart_row(chart, "%zu %.9g %s", row, has ? length_of(&split, shares) : 0,
                  chart_quote(chart, text));
    }
}

/* With room after the longest row for its text. */
static void find_axis(panels_t *panels, int64_t size, bool shares) {
    const size_t p = panels->n++;
    range_t range = RANGE_INIT;
    for (size_t row = 0; row < panels->n_rows; row++) {
        time_split_t split;
        if (panels->shown[row] != NULL && split_at(panels->shown[row], size, &split))
            range_take(&range, length_of(&split, shares));
    }
    const bool logarithmic = panels->logarithmic && !shares;
    const double most = range.high > 0 ? range.high : 1;
    panels->are_logarithmic[p] = logarithmic;
    panels->lows[p] = logarithmic ? pow(10, floor(log10(fmin(range.low, most) / 1.1))) : 0;
    panels->highs[p] =
        logarithmic ? most * pow(most / panels->lows[p], 0.6) : 1.5 * (shares ? 100 : most);
    panels->tops[p] = shares ? 100 : panels->highs[p];
}

static void write_panels(const plot_data_t *data, size_t first, panels_t *panels) {
    enum { FRAME_HEIGHT = 136, LINE_HEIGHT = 100, ROW_HEIGHT = 18 };
    chart_t *chart = panels->chart;
    const char *axis =
        panels->logarithmic ? "time, ms (log: compare shares at the right)" : "time, ms";
    chart_row(chart, "\n\n# panels\npanel title axis");
    for (size_t i = first, p = 0; i < data->n_sizes; i++, p += PANEL_COLUMNS) {
        const char *title = chart_size_title(chart, data, data->sizes[i]);
        chart_row(chart, "%zu %s %s", p,
                  chart_quote(chart, chart_format(chart, "%s: one epoch", title)),
                  chart_quote(chart, axis));
        chart_row(chart, "%zu %s %s", p + 1,
                  chart_quote(chart, chart_format(chart, "%s: shares", title)),
                  chart_quote(chart, "share of the epoch, %"));
    }
    for (size_t i = first; i < data->n_sizes; i++)
        for (int shares = 0; shares < PANEL_COLUMNS; shares++) {
            write_pieces(panels, data->sizes[i], shares);
            write_texts(panels, data->sizes[i], shares);
            find_axis(panels, data->sizes[i], shares);
        }
    chart_reals(chart, "lows", panels->lows, panels->n);
    chart_reals(chart, "highs", panels->highs, panels->n);
    chart_reals(chart, "tops", panels->tops, panels->n);
    chart_integers(chart, "logarithmic", panels->are_logarithmic, panels->n);
    chart_numbers(chart, "n_panels=%zu n_columns=%d n_rows=%zu first_style=%d", panels->n,
                  PANEL_COLUMNS, panels->n_rows, STYLE_SPLIT);
    chart_numbers(chart, "width=%d height=%zu", CHART_WIDTH,
                  FRAME_HEIGHT +
                      (panels->n / PANEL_COLUMNS) * (LINE_HEIGHT + ROW_HEIGHT * panels->n_rows));
}

char *chart_allocators(const plot_data_t *data, chart_t *chart) {
    chart_init(chart, "allocators");
    panels_t panels = {.chart = chart};
    show_splits(data, &panels);
    char *why = panels.n_rows == 0 ? mem_text("no case recorded the time split of an epoch") : NULL;
    chart->note = chart_format(chart,
                               "%s  ·  an extra epoch under CUPTI, which adds overhead  ·  GPU "
                               "busy: kernel time / epoch",
                               data->shape);
    const size_t first = plot_first_size(data, MAX_PANELS / PANEL_COLUMNS);
    for (size_t i = first; i < data->n_sizes; i++)
        panels.logarithmic = panels.logarithmic || ratio_at(data, data->sizes[i]) > LINEAR_RATIO;
    if (why == NULL)
        write_panels(data, first, &panels);
    free(panels.shown);
    return why;
}
