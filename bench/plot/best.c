/* The fastest contender of each engine at each size: it may differ between sizes. */
#include "plot/source.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_MIXED_STYLE = 33 }; /* plots/style.gp: one an engine, in the order of legends */

static bool is_faster(const case_result_t *result, const case_result_t *than, const char *phase) {
    double ns = result != NULL && result->status == CASE_OK ? result_median(result, phase) : NAN;
    return isfinite(ns) && (than == NULL || ns < result_median(than, phase));
}

/* The C reference, different algorithms and sums in lower precision do not compete. */
static bool competes(const series_t *series) {
    return !series_is_oracle(series) && !series->algorithmic && !series->rougher;
}

/* The number of times that a series needs to compete. By `total` the fastest set-ups have no time,
 * since graphs have no phases: a technique that was tried at four sizes would make four dents in
 * the line, so at least half as many as the longest series are required. By `host_to_host` every
 * series counts. */
static size_t least_times(const plot_data_t *data, const char *label, const char *phase) {
    size_t longest = 0;
    for (size_t s = 0; s < data->n_series && strcmp(phase, "total") == 0; s++)
        if (strcmp(data->series[s].label, label) == 0 &&
            series_times(&data->series[s], phase) > longest)
            longest = series_times(&data->series[s], phase);
    return (longest + 1) / 2;
}

/* NULL if no case of the engine has a time there. */
static const case_result_t *fastest_at(const plot_data_t *data, const char *label,
                                       const char *phase, int64_t size, const series_t **whose) {
    size_t least = least_times(data, label, phase);
    const case_result_t *fastest = NULL;
    for (size_t s = 0; s < data->n_series; s++) {
        const case_result_t *result = series_at(&data->series[s], size);
        if (strcmp(data->series[s].label, label) == 0 && competes(&data->series[s]) &&
            series_times(&data->series[s], phase) >= least && is_faster(result, fastest, phase)) {
            fastest = result;
            *whose = &data->series[s];
        }
    }
    return fastest;
}

static void name_mixed(plot_data_t *data, const series_t *one_of_it, series_t *mixed) {
    const char *label = one_of_it->label, *title = plot_engine_title(label);
    size_t length = strlen(title);
    while (length > 0 && strchr(" ,", title[length - 1]) != NULL)
        length--;
    mixed->key = arena_format(&data->texts, "%s/", label);
    mixed->title = arena_format(&data->texts, "%.*s, the fastest at each %s", (int)length, title,
                                data->workload->size_noun);
    mixed->label = label;
    mixed->variant = "";
    mixed->style = series_is_other(one_of_it) ? one_of_it->style
                                              : FIRST_MIXED_STYLE + (int)plot_engine_rank(label);
}

static void find(plot_data_t *data, const char *label, const char *phase) {
    best_t best = {.phase = phase, .label = label};
    series_t *mixed = &best.mixed;
    const series_t *whose = NULL, *single = NULL;
    bool several = false;
    for (size_t b = 0; b < data->n_sizes; b++) {
        const case_result_t *result = fastest_at(data, label, phase, data->sizes[b], &whose);
        if (result == NULL)
            continue;
        mem_grow(&mixed->cases, mixed->n_cases, &mixed->capacity, sizeof *mixed->cases);
        mixed->cases[mixed->n_cases++] = result;
        several = several || (single != NULL && single != whose);
        single = whose;
    }
    if (single == NULL)
        return;
    name_mixed(data, single, mixed);
    best.single = several ? NULL : single;
    mem_grow(&data->best, data->n_best, &data->best_capacity, sizeof *data->best);
    data->best[data->n_best++] = best;
}

void plot_best_find(plot_data_t *data) {
    const char *const phases[] = {"total", "host_to_host", data->workload->compared_by};
    const size_t n_phases = phases[2] != NULL ? 3 : 2;
    for (size_t k = 0; k < n_phases; k++)
        for (size_t s = 0; s < data->n_series; s++)
            if (plot_is_first_of_engine(data, s))
                find(data, data->series[s].label, phases[k]);
}

const series_t *plot_fastest_series(const plot_data_t *data, const char *label, const char *phase) {
    for (size_t i = 0; i < data->n_best; i++)
        if (strcmp(data->best[i].label, label) == 0 && strcmp(data->best[i].phase, phase) == 0)
            return data->best[i].single != NULL ? data->best[i].single : &data->best[i].mixed;
    return NULL;
}

bool series_is_mixed(const series_t *series) {
    return series->variant[0] == '\0';
}
