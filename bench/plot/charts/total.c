/* total, host_to_host: both sides with the study's set-up and at their best, and the CPU. */
#include "plot/lines.h"

#include "base/memory.h"

#include <string.h>

/* A mixed series says in its own name what it is. */
static void add_fastest(lines_t *lines, const plot_data_t *data, const char *label,
                        const char *phase, const char *role) {
    const series_t *series = plot_fastest_series(data, label, phase);
    bool mixed = series != NULL && series_is_mixed(series);
    lines_add(lines, series, phase, mixed ? NULL : role);
}

static lines_t both_sides(const plot_data_t *data, const char *phase) {
    lines_t lines = {0};
    if (data->study_csv) { /* one contender a side: nothing to be the fastest of */
        lines_add(&lines, plot_default_series(data, "cuda"), phase, NULL);
        lines_add(&lines, plot_default_series(data, "pytorch-cuda"), phase, NULL);
        return lines;
    }
    lines_add(&lines, plot_default_series(data, "cuda"), phase, "the study's");
    add_fastest(&lines, data, "cuda", phase, "fastest CUDA");
    lines_add(&lines, plot_default_series(data, "pytorch-cuda"), phase, "the study's");
    add_fastest(&lines, data, "pytorch-cuda", phase, "fastest PyTorch");
    lines_add(&lines, plot_default_series(data, "cpu"), phase, NULL);
    lines_add(&lines, plot_fastest_series(data, "pytorch-cpu", phase), phase, NULL);
    for (size_t i = 0; i < data->n_series; i++) /* of each engine that a user added, its fastest */
        if (series_is_other(&data->series[i]))
            lines_add(&lines, plot_fastest_series(data, data->series[i].label, phase), phase, NULL);
    return lines;
}

/* Such a set-up may be faster than all that are drawn here. */
static bool has_set_ups_without(const plot_data_t *data, const char *phase) {
    for (size_t i = 0; i < data->n_series; i++)
        if (strcmp(data->series[i].label, "cuda") == 0 &&
            series_has_phase(&data->series[i], "host_to_host") &&
            !series_has_phase(&data->series[i], phase))
            return true;
    return false;
}

static char *compare_sides(const plot_data_t *data, const char *phase, const char *title,
                           const char *meaning, chart_t *chart) {
    lines_t lines = both_sides(data, phase);
    if (lines.n == 0)
        return mem_format("no case has a time for %s", phase);
    chart_init(chart, "lines");
    chart->title = mem_format("%s, against %s", title, data->workload->size_noun);
    bool some_left_out = has_set_ups_without(data, phase);
    chart->note = mem_format("%s  ·  %s%s", data->shape, meaning,
                             some_left_out ? "  ·  fastest CUDA: of set-ups with phases, which a "
                                             "launch as a graph does not have"
                                           : "");
    lines_write(&lines, data, chart);
    lines_free(&lines);
    return NULL;
}

char *chart_total(const plot_data_t *data, chart_t *chart) {
    const char *meaning = data->study_csv ? "medians"
                                          : "phase total: a synchronise between phases  ·  "
                                            "medians, 95 % intervals  ·  hollow: throttled";
    return compare_sides(data, "total", "Total time of one sample, all phases", meaning, chart);
}

char *chart_host_to_host(const plot_data_t *data, chart_t *chart) {
    return compare_sides(data, "host_to_host", "From input in host memory to output in host memory",
                         "phase host_to_host: no synchronise that the work does not need  ·  "
                         "medians, 95 % intervals  ·  hollow: throttled",
                         chart);
}
