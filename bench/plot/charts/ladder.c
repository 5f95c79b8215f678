/* ladder: the compute time of each rung and the hardware limit. */
#include "base/memory.h"
#include "base/units.h"
#include "plot/limit_lines.h"
#include "plot/lines.h"

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
    const char *meaning =
        strcmp(phase, "kernel_graph") == 0 ? ": per launch, many in a CUDA graph" : "";
    chart->note = chart_format(
        chart, "%s  ·  compute time of each %s rung, phase %s%s  ·  %s%s%s%s", data->shape,
        is_cuda ? "CUDA" : "C", phase, meaning, chart_medians(chart, data), chart_hollow(data),
        lines.n_limits == 0 ? "  ·  no limit known" : "", bounds);
    lines_write(&lines, data, chart);
    return NULL;
}
