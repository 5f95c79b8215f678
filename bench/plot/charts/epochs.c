/* epoch: what an epoch takes, by contender: the training alone, and with the validation behind it.
 */
#include "plot/bars.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
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

/* The oracle is no contender, and allocators have a chart of their own. */
static bool belongs(const series_t *series) {
    bool oracle = strcmp(series->label, "cpu") == 0 && strcmp(series->variant, "ref") == 0;
    return series->is_default && !oracle && series_has_phase(series, PHASES[0]);
}

static epoch_layout_t layout_of(const plot_data_t *data) {
    epoch_layout_t layout = {.data = data};
    for (size_t s = 0; s < data->n_series && layout.n_rows < MAX_EPOCH_ROWS; s++)
        if (belongs(&data->series[s]))
            layout.rows[layout.n_rows++] = &data->series[s];
    layout.first_size = data->n_sizes > MAX_EPOCH_SIZES ? data->n_sizes - MAX_EPOCH_SIZES : 0;
    return layout;
}

static void write_labels(const epoch_layout_t *layout, bars_t *bars, size_t *places) {
    enum { FIRST_X = 16 };
    fputs("# labels: x in pixels\nrow x text faded\n", bars->chart->table);
    for (size_t r = 0; r < layout->n_rows; r++) {
        bars->n_rows += r > 0 && strcmp(layout->rows[r]->label, layout->rows[r - 1]->label) != 0;
        places[r] = bars->n_rows++;
        bars_label(bars, (int)places[r], FIRST_X, layout->rows[r]->title, false);
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
static char *bar_text(const epoch_layout_t *layout, const series_t *series,
                      const case_result_t *result, const char *phase) {
    char time[UNITS_TEXT];
    const double ns = result_median(result, phase);
    const double pytorch_ns = fastest_pytorch(layout->data, size_of(result), phase);
    units_time(time, ns);
    if (text_starts(series->label, "pytorch") || !isfinite(pytorch_ns) || !isfinite(ns))
        return mem_text(time);
    return mem_format(pytorch_ns / ns < 9.95 ? "%s, %.2f×" : "%s, %.1f×", time, pytorch_ns / ns);
}

static void write_panel(const epoch_layout_t *layout, int64_t size, size_t phase,
                        const size_t *places, bars_t *bars) {
    char *title = mem_format("%s %lld: %s", layout->data->workload->size_param, (long long)size,
                             TITLES[phase]);
    bar_panel_t *panel = bars_panel(bars, title, phase == 0 ? limit_at(layout, size) : NAN);
    for (size_t r = 0; r < layout->n_rows; r++) {
        const case_result_t *result = series_at(layout->rows[r], size);
        if (result == NULL)
            continue;
        char *text = bar_text(layout, layout->rows[r], result, PHASES[phase]);
        bars_bar(panel, places[r], result, PHASES[phase], text, layout->rows[r]->style);
        free(text);
    }
    free(title);
}

static bool needs_logarithm(const bars_t *bars) {
    for (size_t p = 0; p < bars->n_panels; p++)
        if (bars->panels[p].range_ns.high > LINEAR_RATIO * bars->panels[p].range_ns.low)
            return true;
    return false;
}

char *chart_epoch(const plot_data_t *data, chart_t *chart) {
    enum { LEFT = 230 };
    size_t places[MAX_EPOCH_ROWS];
    epoch_layout_t layout = layout_of(data);
    if (layout.n_rows == 0)
        return mem_format("no case has a time for %s", PHASES[0]);
    chart_init(chart, "bars");
    chart->title = mem_text("What one epoch takes, by contender");
    chart->note = mem_format("%s  ·  medians, 95 %% intervals  ·  dashed: the limit  ·  n×: as "
                             "fast as PyTorch's best  ·  hollow: throttled",
                             data->shape);
    bars_t bars = {.chart = chart, .in_ms = true};
    write_labels(&layout, &bars, places);
    for (size_t i = layout.first_size; i < data->n_sizes; i++)
        for (size_t phase = 0; phase < N_PHASES; phase++)
            write_panel(&layout, data->sizes[i], phase, places, &bars);
    bars.logarithmic = needs_logarithm(&bars);
    bars_write(&bars, N_PHASES, LEFT);
    return NULL;
}
