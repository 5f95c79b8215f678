/* size: every contender's time against size, in one chart. */
#include "plot/limit_lines.h"
#include "plot/lines.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* That most are compared by; a line of another phase says so. */
static const char *default_phase(const plot_data_t *data) {
    return data->workload->compared_by != NULL ? data->workload->compared_by : "host_to_host";
}

/* The reference in C answers another question, and combinations of techniques have a chart of their
 * own. */
static bool belongs(const series_t *series) {
    bool oracle = strcmp(series->label, "cpu") == 0 && strcmp(series->variant, "ref") == 0;
    return series->is_default && !oracle;
}

static bool is_pytorch(const series_t *series) {
    return strncmp(series->label, "pytorch-", strlen("pytorch-")) == 0;
}

/* PyTorch's modes are thin, and the fastest of a device is thick: its own line where it is one mode
 * everywhere, else a line over those of the modes. */
static void weigh_pytorch(lines_t *lines, const plot_data_t *data, const char *label) {
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

/* Where techniques were tried, the fastest is one of their combinations; and it may be another rung
 * at each size. */
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

/* Limits, title and note. */
static void describe(lines_t *lines, const plot_data_t *data, chart_t *chart) {
    const char *own = data->workload->compared_by, *noun = data->workload->size_noun;
    chart_init(chart, "lines");
    if (own != NULL) {
        char *bounds = lines_add_bounds(lines, data);
        chart->title = mem_format(strcmp(own, "step") == 0 ? "Time of one %s against %s"
                                                           : "Time of phase %s against %s",
                                  own, noun);
        chart->note = mem_format("%s  ·  phase %s, by the host's clock  ·  medians, 95 %% "
                                 "intervals  ·  hollow: throttled%s",
                                 data->shape, own, bounds);
        free(bounds);
        return;
    }
    lines_add_limits(lines, data, "cuda");
    chart->title = mem_format("Time against %s", noun);
    chart->note =
        mem_format("%s  ·  from input in host memory to output in host memory  ·  "
                   "medians, 95 %% intervals  ·  hollow: throttled%s",
                   data->shape, lines->n_limits > 0 ? "  ·  limit: of the computation" : "");
}

char *chart_times(const plot_data_t *data, chart_t *chart) {
    lines_t lines = {0};
    if (data->n_sizes < 2)
        return mem_format("the cases are all of one %s", data->workload->size_noun);
    for (size_t i = 0; i < data->n_series; i++) {
        const series_t *series = &data->series[i];
        const char *phase = series_compared_by(data, series);
        bool by_default = strcmp(phase, default_phase(data)) == 0;
        if (belongs(series))
            lines_add(&lines, series, phase, by_default ? NULL : phase);
    }
    if (lines.n == 0)
        return mem_format("no case has a time for %s or total", default_phase(data));
    for (size_t i = 0; i < data->n_series; i++)
        if (is_pytorch(&data->series[i]) &&
            (i == 0 || strcmp(data->series[i].label, data->series[i - 1].label) != 0))
            weigh_pytorch(&lines, data, data->series[i].label);
    add_fastest_cuda(&lines, data);
    describe(&lines, data, chart);
    lines_write(&lines, data, chart);
    lines_free(&lines);
    return NULL;
}
