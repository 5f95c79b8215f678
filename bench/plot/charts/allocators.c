/* allocators: time split of an epoch by allocator. driver_calls: driver calls in each epoch.
 * blocks: time of an allocation and a free. */
#include "analysis/learning.h"
#include "base/memory.h"
#include "base/units.h"
#include "plot/panels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SPLIT_SIZES = MAX_PANELS / 2, /* two panels each */
    MAX_CALL_SIZES = 4,
    MAX_SHOWN_EPOCHS = 3, /* the first ones */
    NAME_X = 16,
    ALLOCATOR_X = 210,
    EPOCH_X = 275,
};

/* With a larger ratio the short rows are unreadable on a linear axis. */
static const double LINEAR_RATIO = 20;

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
    panel_piece(panel, row, split->kernels_ns / unit_ns, STYLE_SPLIT, false);
    panel_piece(panel, row, split->driver_ns / unit_ns, STYLE_SPLIT + 1, false);
    panel_piece(panel, row, split->gaps_ns / unit_ns, STYLE_SPLIT + 2, false);
}

static void write_split(panel_t *times, panel_t *shares, size_t row, const series_t *series,
                        int64_t size) {
    time_split_t split;
    char text[UNITS_TEXT];
    const case_result_t *result = series_at(series, size);
    if (result == NULL)
        return;
    if (!time_split_of(result, &split)) {
        panel_text(times, row, result_has_times(result) ? "" : case_status_name(result->status));
        return;
    }
    add_pieces(times, row, &split, 1e6);
    panel_text(times, row, units_time(text, split.epoch_ns));
    add_pieces(shares, row, &split, split.epoch_ns / 100);
    units_percent(text, split.kernels_ns / split.epoch_ns);
    panel_text(shares, row, chart_format(shares->chart, "GPU busy %s", text));
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
static void show_splits(const plot_data_t *data, panels_t *rows) {
    const series_t *last = NULL;
    for (size_t s = 0; s < data->n_series; s++) {
        const series_t *series = &data->series[s];
        if (!has_split(data, series))
            continue;
        const bool another = last == NULL || !same_variant(last, series);
        const int row = (int)panels_show(rows, series, last != NULL && another);
        panels_label(rows, row, NAME_X, another ? plain_title(series, rows->chart) : "", false);
        panels_label(rows, row, ALLOCATOR_X, allocator_name(series), false);
        last = series;
    }
}

static void write_splits(const plot_data_t *data, int64_t size, panels_t *rows) {
    chart_t *chart = rows->chart;
    const char *title = chart_size_title(chart, data, size);
    panel_t *times = panels_add(rows, chart_format(chart, "%s: one epoch", title));
    panel_t *shares = panels_add(rows, chart_format(chart, "%s: shares", title));
    times->axis = rows->logarithmic ? "time, ms (log: compare shares at the right)" : "time, ms";
    shares->axis = "share of the epoch, %";
    shares->end = 100;
    for (size_t r = 0; r < rows->n_shown; r++)
        write_split(times, shares, rows->shown[r].row, rows->shown[r].series, size);
}

char *chart_allocators(const plot_data_t *data, chart_t *chart) {
    enum { LEFT = 290 };
    panels_t rows = panels_open(chart, true, NULL);
    show_splits(data, &rows);
    if (rows.n_shown == 0)
        return mem_text("no case recorded the time split of an epoch");
    chart->title = "Time split of an epoch, by allocator";
    chart->note = chart_format(chart,
                               "%s  ·  an extra epoch under CUPTI, which adds overhead  ·  GPU "
                               "busy: kernel time / epoch",
                               data->shape);
    const size_t first = plot_first_size(data, MAX_SPLIT_SIZES);
    for (size_t i = first; i < data->n_sizes; i++)
        rows.logarithmic = rows.logarithmic || ratio_at(data, data->sizes[i]) > LINEAR_RATIO;
    for (size_t i = first; i < data->n_sizes; i++)
        write_splits(data, data->sizes[i], &rows);
    panels_legend(&rows, STYLE_SPLIT, "kernels and copies");
    panels_legend(&rows, STYLE_SPLIT + 1, "driver's allocator only");
    panels_legend(&rows, STYLE_SPLIT + 2, "gaps");
    panels_write(&rows, 2, LEFT);
    return NULL;
}

/* ---- driver calls ---------------------------------------------------------------------------- */

static size_t epochs_with_calls(const series_t *series, int64_t size) {
    const case_result_t *result = series_at(series, size);
    epoch_list_t epochs = result != NULL ? epochs_of(result) : (epoch_list_t){.n = 0};
    size_t n = 0;
    while (n < epochs.n && n < MAX_SHOWN_EPOCHS && isfinite(epochs.items[n].driver_calls))
        n++;
    epoch_list_free(&epochs);
    return n;
}

static size_t most_epochs(const plot_data_t *data, const series_t *series) {
    size_t most = 0;
    for (size_t i = 0; i < data->n_sizes; i++) {
        const size_t n = epochs_with_calls(series, data->sizes[i]);
        most = n > most ? n : most;
    }
    return most;
}

static bool has_other_allocators(const plot_data_t *data, const series_t *series) {
    for (size_t s = 0; s < data->n_series; s++)
        if (&data->series[s] != series && same_variant(&data->series[s], series) &&
            most_epochs(data, &data->series[s]) > 0)
            return true;
    return false;
}

/* Only CUDA rungs that were run with several allocators, if there are any. */
static bool calls_are_shown(const plot_data_t *data, const series_t *series) {
    if (most_epochs(data, series) == 0)
        return false;
    bool any = false;
    for (size_t s = 0; s < data->n_series; s++)
        any = any || has_other_allocators(data, &data->series[s]);
    return !any || strcmp(series->label, "cuda") != 0 || has_other_allocators(data, series);
}

static void write_calls(panel_t *panel, size_t row, const series_t *series, int64_t size) {
    const case_result_t *result = series_at(series, size);
    epoch_list_t epochs = result != NULL ? epochs_of(result) : (epoch_list_t){.n = 0};
    const size_t n = epochs_with_calls(series, size);
    for (size_t e = 0; e < n; e++) {
        const double calls = epochs.items[e].driver_calls;
        panel_piece(panel, row + e, calls, STYLE_CALLS + (e > 0), false);
        panel_text(panel, row + e, chart_format(panel->chart, "%.0f", calls));
    }
    epoch_list_free(&epochs);
}

/* A row per epoch, with a free row between series. */
static void show_calls(const plot_data_t *data, panels_t *rows) {
    for (size_t s = 0; s < data->n_series; s++) {
        const series_t *series = &data->series[s];
        if (!calls_are_shown(data, series))
            continue;
        const int row = (int)panels_show(rows, series, rows->n_shown > 0);
        panels_label(rows, row, NAME_X, plain_title(series, rows->chart), false);
        panels_label(rows, row, ALLOCATOR_X, allocator_name(series), false);
        const int n = (int)most_epochs(data, series);
        for (int e = 0; e < n; e++)
            panels_label(rows, row + e, EPOCH_X, chart_format(rows->chart, "epoch %d", e + 1),
                         false);
    }
}

char *chart_driver_calls(const plot_data_t *data, chart_t *chart) {
    enum { LEFT = 345 };
    panels_t rows = panels_open(chart, true, NULL);
    rows.logarithmic = true;
    show_calls(data, &rows);
    if (rows.n_shown == 0)
        return mem_text("no case recorded its calls of the driver's allocator");
    chart->title = "Calls of the driver's allocator in each epoch";
    chart->note = chart_format(chart,
                               "%s  ·  allocations and frees, including validation  ·  log scale: "
                               "0 has no bar",
                               data->shape);
    for (size_t i = plot_first_size(data, MAX_CALL_SIZES); i < data->n_sizes; i++) {
        panel_t *panel = panels_add(&rows, chart_size_title(chart, data, data->sizes[i]));
        panel->axis = "calls (log scale)";
        for (size_t r = 0; r < rows.n_shown; r++)
            write_calls(panel, rows.shown[r].row, rows.shown[r].series, data->sizes[i]);
    }
    panels_legend(&rows, STYLE_CALLS, "first epoch");
    panels_legend(&rows, STYLE_CALLS + 1, "later epochs");
    panels_write(&rows, rows.n, LEFT);
    return NULL;
}

/* ---- an allocation and a free ---------------------------------------------------------------- */

static void write_block(panel_t *panel, size_t row, const case_result_t *result) {
    char total[UNITS_TEXT], allocate[UNITS_TEXT], release[UNITS_TEXT];
    if (!result_has_times(result)) {
        panel_text(panel, row, case_status_name(result->status));
        return;
    }
    const double allocate_ns = result_median(result, "allocate");
    const double free_ns = result_median(result, "free");
    const bool hollow = result->status == CASE_THROTTLED;
    panel_piece(panel, row, allocate_ns, STYLE_BLOCKS, hollow);
    panel_piece(panel, row, free_ns, STYLE_BLOCKS + 1, hollow);
    units_time(total, result_median(result, "total"));
    panel_text(panel, row,
               chart_format(panel->chart, "%s = %s + %s", total, units_time(allocate, allocate_ns),
                            units_time(release, free_ns)));
}

char *chart_blocks(const plot_data_t *data, chart_t *chart) {
    enum { LEFT = 240 };
    bool any = false;
    for (size_t s = 0; s < data->n_series; s++)
        any = any || (series_has_phase(&data->series[s], "allocate") &&
                      series_has_phase(&data->series[s], "free"));
    if (!any)
        return mem_text("no case has a time for an allocation and a free");
    panels_t rows = panels_open(chart, true, NULL);
    rows.logarithmic = true;
    chart->title = "Time of an allocation and a free, by allocator";
    chart->note = chart_format(chart,
                               "%s  ·  host clock, medians, idle device  ·  log scale: the numbers "
                               "after each bar are the parts",
                               data->workload->name);
    for (size_t s = 0; s < data->n_series; s++)
        panels_label(&rows, (int)s, NAME_X, data->series[s].title, false);
    for (size_t i = plot_first_size(data, MAX_CALL_SIZES); i < data->n_sizes; i++) {
        const int64_t size = data->sizes[i];
        panel_t *panel = panels_add(&rows, chart_format(chart, "%lld block%s in use",
                                                        (long long)size, size == 1 ? "" : "s"));
        panel->axis = "time, ns (log scale)";
        for (size_t s = 0; s < data->n_series; s++) {
            const case_result_t *result = series_at(&data->series[s], size);
            if (result != NULL)
                write_block(panel, s, result);
        }
    }
    panels_legend(&rows, STYLE_BLOCKS, "allocation");
    panels_legend(&rows, STYLE_BLOCKS + 1, "free");
    panels_write(&rows, 1, LEFT);
    return NULL;
}
