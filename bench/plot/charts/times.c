/* total, host_to_host: time against size of every engine, with the study's set-up and at its fastest.
 * ladder: the compute time of each rung and the hardware limit. */
#include "base/memory.h"
#include "plot/axes.h"

#include <string.h>

/* Those of this program do. */
static bool reproduces_a_study(const workload_t *workload) {
    return workload->study != NULL || workload->folder == NULL;
}

/* An engine's set-up of the study, and its fastest; the title of a mixed series already says that
 * it is the fastest. */
static void add_engine(lines_t *lines, const plot_data_t *data, const series_t *one_of_it,
                       const char *phase, chart_t *chart) {
    const series_t *fastest = plot_fastest_series(data, one_of_it->label, phase);
    if (one_of_it->on_gpu)
        lines_add(lines, plot_default_series(data, one_of_it->label), phase,
                  reproduces_a_study(data->workload) ? "the study's" : NULL);
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

char *chart_host_to_host(const plot_data_t *data, chart_t *chart) {
    return compare_sides(
        data, "host_to_host",
        "phase host_to_host: from inputs in host memory to outputs in host memory, no "
        "unnecessary synchronisation  ·  ",
        chart);
}

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
    const char *meaning =
        strcmp(phase, "kernel_graph") == 0 ? ": per launch, many in a CUDA graph" : "";
    chart->note = chart_format(
        chart, "%s  ·  compute time of each %s rung, phase %s%s  ·  %s%s%s%s", data->shape,
        is_cuda ? "CUDA" : "C", phase, meaning, chart_medians(chart, data), chart_hollow(data),
        lines.n_limits == 0 ? "  ·  no limit known" : "", bounds);
    lines_write(&lines, data, chart);
    return NULL;
}
