/* epoch: time of an epoch by contender: the training alone, and with validation. */
#include "analysis/contenders.h"
#include "base/memory.h"
#include "base/units.h"
#include "plot/panels.h"

#include <math.h>
#include <string.h>

static const char *const PHASES[] = {"train", "total"};
static const char *const TITLES[] = {"training", "training and validation"};
enum { N_PHASES = 2, MAX_EPOCH_SIZES = MAX_PANELS / N_PHASES };

/* With a larger ratio the short bars are unreadable on a linear axis. */
static const double LINEAR_RATIO = 20;

/* Allocators have their own chart. */
static bool is_shown(const series_t *series) {
    return series->is_default && series_has_phase(series, PHASES[0]);
}

/* Contenders, with a free row between engines. */
static void show_rows(const plot_data_t *data, panels_t *bars) {
    enum { FIRST_X = 16 };
    for (size_t s = 0; s < data->n_series; s++) {
        const series_t *series = &data->series[s];
        if (!is_shown(series))
            continue;
        const shown_t *last = bars->n_shown > 0 ? &bars->shown[bars->n_shown - 1] : NULL;
        bool new_engine = last != NULL && strcmp(last->series->label, series->label) != 0;
        panels_label(bars, (int)panels_show(bars, series, new_engine), FIRST_X, series->title,
                     false);
    }
}

/* The hardware limit of the training; NaN if unknown. */
static double limit_at(const panels_t *bars, int64_t size) {
    for (size_t r = 0; r < bars->n_shown; r++) {
        const case_result_t *result = series_at(bars->shown[r].series, size);
        if (result != NULL && result_has_times(result) && result->limit.limit_ns > 0)
            return result->limit.limit_ns;
    }
    return NAN;
}

/* On the GPU; without a rival there, on the CPU. */
static double strongest_rival_ns(const plot_data_t *data, int64_t size, const char *phase) {
    for (int cpu = 0; cpu < 2; cpu++) {
        const series_t *strongest = plot_strongest_rival(data, !cpu, phase);
        const case_result_t *result = strongest != NULL ? series_at(strongest, size) : NULL;
        if (result != NULL)
            return result_median(result, phase);
    }
    return NAN;
}

/* "41.3 ms, 4.2×" */
static const char *bar_text(const plot_data_t *data, const series_t *series,
                            const case_result_t *result, const char *phase, chart_t *chart) {
    char time[UNITS_TEXT], digits[UNITS_TEXT];
    const double ns = result_median(result, phase);
    const double ratio = strongest_rival_ns(data, size_of(result), phase) / ns;
    units_time(time, ns);
    if (series->rival || !isfinite(ratio))
        return chart_format(chart, "%s", time);
    return chart_format(chart, "%s, %s×", time, units_two_digits(digits, ratio));
}

static void write_panel(const plot_data_t *data, int64_t size, size_t phase, panels_t *bars) {
    chart_t *chart = bars->chart;
    const char *title = chart_size_title(chart, data, size);
    panel_t *panel = panels_add(bars, chart_format(chart, "%s: %s", title, TITLES[phase]));
    panel_line(panel, phase == 0 ? limit_at(bars, size) : NAN);
    for (size_t r = 0; r < bars->n_shown; r++) {
        const series_t *series = bars->shown[r].series;
        const case_result_t *result = series_at(series, size);
        if (result != NULL)
            panel_bar(panel, bars->shown[r].row, result, PHASES[phase],
                      bar_text(data, series, result, PHASES[phase], chart), series->style);
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
    panels_t bars = panels_open(chart, false, NULL);
    bars.in_ms = true;
    show_rows(data, &bars);
    if (bars.n_shown == 0)
        return mem_format("no case has a time for %s", PHASES[0]);
    chart->title = "Time of one epoch, by contender";
    chart->note = chart_format(chart,
                               "%s  ·  %s  ·  dashed: the limit  ·  n×: "
                               "speed vs. the strongest rival%s",
                               data->shape, chart_medians(chart, data), chart_hollow(data));
    for (size_t i = plot_first_size(data, MAX_EPOCH_SIZES); i < data->n_sizes; i++)
        for (size_t phase = 0; phase < N_PHASES; phase++)
            write_panel(data, data->sizes[i], phase, &bars);
    bars.logarithmic = needs_logarithm(&bars);
    panels_write(&bars, N_PHASES, LEFT);
    return NULL;
}
