/* total, host_to_host: time against size of every engine, with the study's set-up and at its fastest. */
#include "analysis/contenders.h"
#include "base/memory.h"
#include "plot/axes.h"

#include <stdlib.h>
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
