/* epoch: what an epoch takes, by contender: the training alone, and with the validation behind it.
 */
#include "plot/panels.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

static const char *const PHASES[] = {"train", "total"};
static const char *const TITLES[] = {"training", "training and validation"};
enum { N_PHASES = 2, MAX_EPOCH_SIZES = MAX_PANELS / N_PHASES, MAX_EPOCH_ROWS = 40 };

/* Shorter bars than this share of the longest cannot be told apart. */
static const double LINEAR_RATIO = 20;

typedef struct epoch_layout {
    const plot_data_t *data;
    const series_t *rows[MAX_EPOCH_ROWS];
    size_t n_rows;
    size_t first_size; /* of too many the largest are shown */
} epoch_layout_t;

/* Allocators have a chart of their own. */
static bool belongs(const series_t *series) {
    return series->is_default && !series_is_oracle(series) && series_has_phase(series, PHASES[0]);
}

static epoch_layout_t layout_of(const plot_data_t *data) {
    epoch_layout_t layout = {.data = data};
    for (size_t s = 0; s < data->n_series && layout.n_rows < MAX_EPOCH_ROWS; s++)
        if (belongs(&data->series[s]))
            layout.rows[layout.n_rows++] = &data->series[s];
    layout.first_size = data->n_sizes > MAX_EPOCH_SIZES ? data->n_sizes - MAX_EPOCH_SIZES : 0;
    return layout;
}

static void write_labels(const epoch_layout_t *layout, panels_t *bars, size_t *places) {
    enum { FIRST_X = 16 };
    chart_row(bars->chart, "# labels: x in pixels\nrow x text faded");
    for (size_t r = 0; r < layout->n_rows; r++) {
        const series_t *const *row = &layout->rows[r];
        places[r] = bars->n_rows + (r > 0 && strcmp(row[0]->label, row[-1]->label) != 0);
        panels_label(bars, (int)places[r], FIRST_X, row[0]->title, false);
    }
}

/* The least time that the hardware allows for the training; NaN where it is not known. */
static double limit_at(const epoch_layout_t *layout, int64_t size) {
    for (size_t r = 0; r < layout->n_rows; r++) {
        const case_result_t *result = series_at(layout->rows[r], size);
        if (result != NULL && result_has_times(result) && result->limit.limit_ns > 0)
            return result->limit.limit_ns;
    }
    return NAN;
}

static double fastest_pytorch(const plot_data_t *data, int64_t size, const char *phase) {
    const char *const labels[] = {"pytorch-cuda", "pytorch-cpu"};
    for (size_t i = 0; i < 2; i++) {
        const series_t *fastest = plot_fastest_series(data, labels[i], phase);
        const case_result_t *result = fastest != NULL ? series_at(fastest, size) : NULL;
        if (result != NULL)
            return result_median(result, phase);
    }
    return NAN;
}

/* "41.3 ms, 4.16×" */
static const char *bar_text(const epoch_layout_t *layout, const series_t *series,
                            const case_result_t *result, const char *phase, chart_t *chart) {
    char time[UNITS_TEXT];
    const double ns = result_median(result, phase);
    const double ratio = fastest_pytorch(layout->data, size_of(result), phase) / ns;
    units_time(time, ns);
    if (text_starts(series->label, "pytorch") || !isfinite(ratio))
        return chart_format(chart, "%s", time);
    return chart_format(chart, ratio < 9.95 ? "%s, %.2f×" : "%s, %.1f×", time, ratio);
}

static void write_panel(const epoch_layout_t *layout, int64_t size, size_t phase,
                        const size_t *places, panels_t *bars) {
    chart_t *chart = bars->chart;
    const char *title = chart_size_title(chart, layout->data, size);
    panel_t *panel = panels_add(bars, chart_format(chart, "%s: %s", title, TITLES[phase]));
    panel_line(panel, phase == 0 ? limit_at(layout, size) : NAN);
    for (size_t r = 0; r < layout->n_rows; r++) {
        const series_t *series = layout->rows[r];
        const case_result_t *result = series_at(series, size);
        if (result != NULL)
            panel_bar(panel, places[r], result, PHASES[phase],
                      bar_text(layout, series, result, PHASES[phase], chart), series->style);
    }
}

static bool needs_logarithm(const panels_t *bars) {
    for (size_t p = 0; p < bars->n; p++)
        if (bars->items[p].seen.high > LINEAR_RATIO * bars->items[p].seen.low)
            return true;
    return false;
}

char *chart_epoch(const plot_data_t *data, chart_t *chart) {
    enum { LEFT = 230 };
    size_t places[MAX_EPOCH_ROWS];
    epoch_layout_t layout = layout_of(data);
    if (layout.n_rows == 0)
        return mem_format("no case has a time for %s", PHASES[0]);
    chart_init(chart, "panels");
    chart->title = "What one epoch takes, by contender";
    chart->note = chart_format(chart,
                               "%s  ·  medians, 95 %% intervals  ·  dashed: the limit  ·  n×: as "
                               "fast as PyTorch's best  ·  hollow: throttled",
                               data->shape);
    panels_t bars = {.chart = chart, .in_ms = true};
    write_labels(&layout, &bars, places);
    for (size_t i = layout.first_size; i < data->n_sizes; i++)
        for (size_t phase = 0; phase < N_PHASES; phase++)
            write_panel(&layout, data->sizes[i], phase, places, &bars);
    bars.logarithmic = needs_logarithm(&bars);
    panels_write(&bars, N_PHASES, LEFT);
    return NULL;
}
