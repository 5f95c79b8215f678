/* ladder: the compute time of each rung and the hardware limit. */
#include "base/memory.h"
#include "base/units.h"
#include "plot/axes.h"

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
