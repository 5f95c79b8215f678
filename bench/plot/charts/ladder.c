/* ladder: the compute time of each rung and the hardware limit. */
#include "base/memory.h"
#include "base/units.h"
#include "plot/limit_lines.h"
#include "plot/lines.h"
#include "plot/panels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* If a kernel was measured in a graph, the limit applies to that time. Trainings on a GPU are timed
 * by events. */
static const char *compute_phase(const series_t *series) {
    static const char *const PREFERRED[] = {"kernel_graph", "step_device", "train_device",
                                            "train",        "kernel",      "forward"};
    for (size_t i = 0; i < sizeof PREFERRED / sizeof *PREFERRED; i++)
        if (series_has_phase(series, PREFERRED[i]))
            return PREFERRED[i];
    return NULL;
}

/* The limit depends only on the size and the device: any case of the size has it. */
static double limit_at(const plot_data_t *data, const char *label, int64_t size,
                       text_list_t *bounds) {
    for (size_t s = 0; s < data->n_series; s++) {
        const case_result_t *result = series_at(&data->series[s], size);
        if (strcmp(data->series[s].label, label) != 0 || result == NULL ||
            !isfinite(result->limit.limit_ns))
            continue;
        const char *bound = result->limit.bound;
        if (bound != NULL && !text_list_has(bounds, bound))
            text_list_add(bounds, bound);
        return result->limit.limit_ns;
    }
    return NAN;
}

void lines_add_limits(lines_t *lines, const plot_data_t *data, const char *label, chart_t *chart) {
    double *limits_ns = mem_zeroed(data->n_sizes, sizeof *limits_ns);
    text_list_t bounds = {0};
    for (size_t i = 0; i < data->n_sizes; i++)
        limits_ns[i] = limit_at(data, label, data->sizes[i], &bounds);
    const char *names = arena_keep(&chart->texts, text_list_join(&bounds, ", "));
    lines_limit(
        lines, data, limits_ns,
        chart_format(chart, bounds.n > 0 ? "hardware limit (%s)" : "hardware limit%s", names),
        STYLE_LIMIT);
    text_list_free(&bounds);
}

/* Add the rungs in order. `*default_phase` is the phase of the first; lines of another phase name
 * it. */
static void add_rungs(const plot_data_t *data, const char *label, lines_t *lines,
                      const char **default_phase) {
    for (size_t i = 0; i < data->n_series; i++) {
        const series_t *series = &data->series[i];
        const char *phase = compute_phase(series);
        if (strcmp(series->label, label) != 0 || !series->is_default || phase == NULL)
            continue;
        if (*default_phase == NULL)
            *default_phase = phase;
        lines_add(lines, series, phase, strcmp(phase, *default_phase) == 0 ? NULL : phase);
    }
}

char *chart_ladder(const plot_data_t *data, chart_t *chart) {
    const char *phase = NULL;
    lines_t lines = {0};
    if (data->n_sizes < 2)
        return mem_format("all cases have the same %s", data->workload->size_noun);
    add_rungs(data, "cuda", &lines, &phase);
    const bool is_cuda = lines.n > 0;
    if (!is_cuda)
        add_rungs(data, "cpu", &lines, &phase);
    if (lines.n == 0)
        return mem_text("no case of CUDA or C has a compute time");
    const char *bounds = "";
    chart_init(chart, "lines");
    if (is_cuda && has_training_bounds(data))
        bounds = lines_add_bounds(&lines, data, chart);
    else
        lines_add_limits(&lines, data, is_cuda ? "cuda" : "cpu", chart);
    chart->title = chart_format(chart, "The %s ladder: compute time of each rung against %s",
                                is_cuda ? "CUDA" : "C", data->workload->size_noun);
    const char *meaning =
        strcmp(phase, "kernel_graph") == 0 ? ": per launch, many in a CUDA graph" : "";
    chart->note = chart_format(chart, "%s  ·  phase %s%s  ·  %s%s%s%s", data->shape, phase, meaning,
                               chart_medians(chart, data), chart_hollow(data),
                               lines.n_limits == 0 ? "  ·  no limit known" : "", bounds);
    lines_write(&lines, data, chart);
    return NULL;
}

/* ---- a panel of bars per size ---------------------------------------------------------------- */

static const char *panel_phase(const plot_data_t *data) {
    return has_training_bounds(data) ? training_bounds_phase(data) : "kernel_graph";
}

static bool is_rung(const plot_data_t *data, const series_t *series) {
    return strcmp(series->label, "cuda") == 0 && series->is_default &&
           series_has_phase(series, panel_phase(data));
}

static bool any_rung_at(const plot_data_t *data, const panels_t *bars, int64_t size) {
    for (size_t r = 0; r < bars->n_shown; r++) {
        const case_result_t *result = series_at(bars->shown[r].series, size);
        if (result != NULL && isfinite(result_median(result, panel_phase(data))))
            return true;
    }
    return false;
}

/* Is the phase of the panels a complete training rather than one step? */
static bool has_epochs(const plot_data_t *data) {
    return has_training_bounds(data) &&
           case_param(series_any_at(data, data->sizes[0]), "epochs") != NULL;
}

/* "1.49 ms, 87 %" of the limit; for a training with epochs "1.49 ms, 7.45 µs", the time per
 * epoch. */
static const char *bar_text(const plot_data_t *data, const series_t *series,
                            const case_result_t *result, double limit_ns, chart_t *chart) {
    char time[UNITS_TEXT], part[UNITS_TEXT] = "";
    double median = result_median(result, panel_phase(data));
    if (has_training_bounds(data) && !has_epochs(data)) {
        if (isfinite(result->limit.frac))
            units_percent(part, result->limit.frac);
    } else if (has_epochs(data) && !series->algorithmic) {
        units_time(part, median / (double)case_param_int(&result->spec, "epochs", 1));
    } else if (isfinite(limit_ns)) {
        units_percent(part, limit_ns / median);
    }
    return chart_format(chart, "%s%s%s", units_time(time, median), part[0] != '\0' ? ", " : "",
                        part);
}

/* Below the rungs: each bound and its line. */
static void write_bounds(const plot_data_t *data, int64_t size, size_t row, panel_t *panel) {
    char text[UNITS_TEXT];
    const device_rates_t rates = device_rates_of_record(data->run);
    const case_t *spec = series_any_at(data, size);
    for (int b = 0; b < N_TRAINING_BOUNDS; b++) {
        double ns = training_bound_ns(b, spec, &rates);
        if (isfinite(ns))
            panel_bound(panel, row, ns, units_time(text, ns));
        row += training_bound_is_known(b, data, &rates);
    }
}

/* Bounds have one row each, after a free row below the rungs. */
static void write_size(const plot_data_t *data, int64_t size, panels_t *bars) {
    chart_t *chart = bars->chart;
    const bool with_bounds = has_training_bounds(data);
    char text[UNITS_TEXT];
    text_list_t bounds = {0};
    double limit_ns = with_bounds ? NAN : limit_at(data, "cuda", size, &bounds);
    panel_t *panel = panels_add(bars, chart_format(chart, "%s %s%s%s", data->workload->size_param,
                                                   chart_size_in(text, data, size),
                                                   bounds.n > 0 ? ", limit: " : "",
                                                   bounds.n > 0 ? bounds.items[0] : ""));
    text_list_free(&bounds);
    if (panel == NULL)
        return;
    panel_line(panel, limit_ns);
    for (size_t r = 0; r < bars->n_shown; r++) {
        const series_t *series = bars->shown[r].series;
        const case_result_t *result = series_at(series, size);
        if (result != NULL)
            panel_bar(panel, bars->shown[r].row, result, panel_phase(data),
                      bar_text(data, series, result, limit_ns, chart), series->style);
    }
    if (with_bounds)
        write_bounds(data, size, bars->n_shown + 1, panel);
}

static void show_rungs(const plot_data_t *data, panels_t *bars) {
    enum { LABEL_X = 16 };
    for (size_t s = 0; s < data->n_series; s++) {
        const series_t *series = &data->series[s];
        if (is_rung(data, series))
            panels_label(bars, (int)panels_show(bars, series, 0), LABEL_X, series->variant, false);
    }
    if (!has_training_bounds(data))
        return;
    const device_rates_t rates = device_rates_of_record(data->run);
    bars->n_rows++;
    for (int b = 0; b < N_TRAINING_BOUNDS; b++)
        if (training_bound_is_known(b, data, &rates))
            panels_label(bars, (int)bars->n_rows, LABEL_X,
                         training_bound_name(b, series_any_at(data, data->sizes[0])), true);
}

/* Sizes that get a panel, by parameter: of others all, or as many as there is room for. */
static const struct panel_sizes {
    const char *param;
    int64_t sizes[MAX_PANELS];
} PANEL_SIZES[] = {
    {"batch", {1, 64, 1 << 12, 1 << 20, 1 << 22, 1 << 24}},
    {"points", {5000, 50000, 500000, 5000000, 50000000}},
    {"hidden", {128, 256, 512, 1024, 2048, 4096, 8192}},
};

static void write_known_sizes(const plot_data_t *data, panels_t *bars) {
    const struct panel_sizes *of = PANEL_SIZES, *end = of + sizeof PANEL_SIZES / sizeof *of;
    while (of < end && strcmp(of->param, data->workload->size_param) != 0)
        of++;
    for (size_t i = 0; of < end && i < MAX_PANELS; i++)
        if (of->sizes[i] > 0 && any_rung_at(data, bars, of->sizes[i]))
            write_size(data, of->sizes[i], bars);
}

/* The smallest, the largest and what lies evenly between. */
static void write_spread_sizes(const plot_data_t *data, panels_t *bars) {
    int64_t *sizes = mem_alloc(data->n_sizes * sizeof *sizes);
    size_t n = 0;
    for (size_t i = 0; i < data->n_sizes; i++)
        if (any_rung_at(data, bars, data->sizes[i]))
            sizes[n++] = data->sizes[i];
    const size_t n_panels = n < MAX_PANELS ? n : MAX_PANELS;
    for (size_t i = 0; i < n_panels; i++)
        write_size(data, sizes[n_panels > 1 ? i * (n - 1) / (n_panels - 1) : 0], bars);
    free(sizes);
}

static const char *dashed_lines(const plot_data_t *data) {
    if (!has_training_bounds(data))
        return "the hardware limit; %: fraction reached";
    return "the limits below, by rates of this run";
}

char *chart_ladder_batch(const plot_data_t *data, chart_t *chart) {
    enum { COLUMNS = 3, LEFT = 170 };
    panels_t bars = panels_open(chart, false, NULL);
    bars.logarithmic = true;
    show_rungs(data, &bars);
    if (bars.n_shown == 0)
        return mem_format("no CUDA rung has a time for %s", panel_phase(data));
    bool steps = has_training_bounds(data) && !has_epochs(data);
    chart->title =
        steps ? "The CUDA ladder; %: fraction reached of all weights' traffic at the DRAM rate, or "
                "the L2 rate if they fit"
              : "The CUDA ladder at several sizes, and the limit";
    chart->note =
        chart_format(chart, "%s  ·  phase %s, %s%s  ·  dashed: %s", data->shape, panel_phase(data),
                     chart_medians(chart, data), has_epochs(data) ? ", and the time per epoch" : "",
                     dashed_lines(data));
    write_known_sizes(data, &bars);
    if (bars.n == 0)
        write_spread_sizes(data, &bars);
    panels_write(&bars, COLUMNS, LEFT);
    return NULL;
}
