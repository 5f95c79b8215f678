/* Time against size. total, host_to_host: every engine with the study's set-up and at its fastest;
 * size: every contender. */
#include "analysis/contenders.h"
#include "base/memory.h"
#include "plot/lines.h"

#include <stdlib.h>
#include <string.h>

/* ---- engines --------------------------------------------------------------------------------- */

/* An engine's set-up of the study, and its fastest; the title of a mixed series already says that
 * it is the fastest. A described workload reproduces no study. */
static void add_engine(lines_t *lines, const plot_data_t *data, const series_t *one_of_it,
                       const char *phase, chart_t *chart) {
    const series_t *fastest = plot_fastest_series(data, one_of_it->label, phase);
    if (one_of_it->on_gpu)
        lines_add(lines, plot_default_series(data, one_of_it->label), phase,
                  data->workload->folder == NULL ? "the study's" : NULL);
    const bool named = fastest != NULL && one_of_it->on_gpu && !series_is_mixed(fastest);
    lines_add(lines, fastest, phase,
              named ? chart_format(chart, "fastest %s", one_of_it->side) : NULL);
}

static lines_t all_sides(const plot_data_t *data, const char *phase, chart_t *chart) {
    lines_t lines = {0};
    for (size_t i = 0; i < data->n_series; i++) {
        if (!plot_is_first_of_engine(data, i))
            continue;
        if (data->study_csv) /* one contender a side */
            lines_add(&lines, plot_default_series(data, data->series[i].label), phase, NULL);
        else
            add_engine(&lines, data, &data->series[i], phase, chart);
    }
    return lines;
}

/* Set-ups without the phase, which may be faster than all that are drawn. */
static bool has_set_ups_without(const plot_data_t *data, const char *phase) {
    for (size_t i = 0; i < data->n_series; i++)
        if (strcmp(data->series[i].label, "cuda") == 0 &&
            series_has_phase(&data->series[i], "host_to_host") &&
            !series_has_phase(&data->series[i], phase))
            return true;
    return false;
}

static char *compare_sides(const plot_data_t *data, const char *phase, const char *meaning,
                           chart_t *chart) {
    chart_init(chart, "lines");
    lines_t lines = all_sides(data, phase, chart);
    if (lines.n == 0)
        return mem_format("no case has a time for %s", phase);
    chart->note =
        chart_format(chart, "%s  ·  %s%s%s%s", data->shape, meaning, chart_medians(chart, data),
                     chart_hollow(data),
                     has_set_ups_without(data, phase)
                         ? "  ·  fastest CUDA: of set-ups with phases; a graph launch has "
                           "none"
                         : "");
    lines_write(&lines, data, chart);
    return NULL;
}

char *chart_total(const plot_data_t *data, chart_t *chart) {
    const char *meaning = data->study_csv ? "" : "phase total: synchronised between phases  ·  ";
    return compare_sides(data, "total", meaning, chart);
}

static const char *spanned_by(const plot_data_t *data) {
    const char *spans = data->workload->host_to_host;
    return spans != NULL ? spans : "from host to host";
}

char *chart_host_to_host(const plot_data_t *data, chart_t *chart) {
    char *meaning =
        mem_format("phase host_to_host: %s, no unnecessary synchronisation  ·  ", spanned_by(data));
    char *reason = compare_sides(data, "host_to_host", meaning, chart);
    free(meaning);
    return reason;
}

/* ---- every contender ------------------------------------------------------------------------- */

/* The phase that most are compared by; lines of another phase name it. */
static const char *default_phase(const plot_data_t *data) {
    return data->compared_by != NULL ? data->compared_by : "host_to_host";
}

/* A rival's modes are thin, its fastest on a device is thick: its own line if it is the same mode
 * everywhere, else a separate line over those of the modes. */
static void weigh_rival(lines_t *lines, const plot_data_t *data, const char *label) {
    const series_t *fastest = plot_fastest_series(data, label, default_phase(data));
    if (fastest == NULL)
        fastest = plot_fastest_series(data, label, "total");
    size_t n_modes = 0;
    for (size_t i = 0; i < lines->n; i++)
        n_modes += strcmp(lines->items[i].series->label, label) == 0;
    if (fastest == NULL || n_modes < 2)
        return;
    for (size_t i = 0; i < data->n_series; i++)
        if (strcmp(data->series[i].label, label) == 0)
            lines_weigh(lines, &data->series[i], WEIGHT_THIN);
    lines_add(lines, fastest, series_compared_by(data, fastest),
              series_is_mixed(fastest) ? NULL : "fastest mode");
    lines_weigh(lines, fastest, WEIGHT_THICK);
}

/* If techniques were tried, the fastest is one of their combinations; it may be a different rung at
 * each size. */
static void add_fastest_cuda(lines_t *lines, const plot_data_t *data) {
    bool tried = false;
    for (size_t i = 0; i < data->n_series; i++)
        tried =
            tried || (strcmp(data->series[i].label, "cuda") == 0 && !data->series[i].is_default);
    const char *phase = default_phase(data);
    const series_t *fastest = plot_fastest_series(data, "cuda", phase);
    if (fastest == NULL || !(tried || series_is_mixed(fastest)))
        return;
    lines_add(lines, fastest, phase, series_is_mixed(fastest) ? NULL : "fastest CUDA");
    lines_weigh(lines, fastest, WEIGHT_THICK);
}

/* From host to host, or of the computation alone: beside the limit of the computation. */
static void describe_call(lines_t *lines, const plot_data_t *data, chart_t *chart) {
    const char *phase = data->compared_by;
    const bool in_graph = phase != NULL && strcmp(phase, CALL_IN_GRAPH) == 0;
    lines_add_limits(lines, data, "cuda", chart);
    chart->note =
        chart_format(chart, "%s  ·  %s  ·  %s%s%s", data->shape,
                     phase == NULL ? spanned_by(data)
                     : in_graph    ? "one of many calls in a CUDA graph, device clock"
                                   : "one call; on a GPU by the device's clock",
                     chart_medians(chart, data), chart_hollow(data),
                     lines->n_limits > 0 && phase == NULL ? "  ·  limit: of the computation" : "");
}

static void describe_training(lines_t *lines, const plot_data_t *data, chart_t *chart) {
    const char *phase = data->compared_by;
    const char *bounds = lines_add_bounds(lines, data, chart);
    chart->note = chart_format(chart, "%s  ·  phase %s, host clock  ·  %s%s%s", data->shape, phase,
                               chart_medians(chart, data), chart_hollow(data), bounds);
}

/* Combinations of techniques have their own chart. */
char *chart_times(const plot_data_t *data, chart_t *chart) {
    lines_t lines = {0};
    if (data->n_sizes < 2)
        return mem_format("all cases have the same %s", data->workload->size_noun);
    for (size_t i = 0; i < data->n_series; i++) {
        const series_t *series = &data->series[i];
        const char *phase = series_compared_by(data, series);
        bool by_default = strcmp(phase, default_phase(data)) == 0;
        const char *role = strcmp(phase, ONE_CALL) == 0 ? "one call" : phase;
        if (series->is_default)
            lines_add(&lines, series, phase, by_default ? NULL : role);
    }
    if (lines.n == 0)
        return mem_format("no case has a time for %s or total", default_phase(data));
    for (size_t i = 0; i < data->n_series; i++)
        if (plot_is_first_of_engine(data, i) && data->series[i].rival)
            weigh_rival(&lines, data, data->series[i].label);
    add_fastest_cuda(&lines, data);
    chart_init(chart, "lines");
    (plot_is_of_calls(data) ? describe_call : describe_training)(&lines, data, chart);
    lines_write(&lines, data, chart);
    return NULL;
}
