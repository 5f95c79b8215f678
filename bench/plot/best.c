/* The fastest contender of each engine at each size: it may differ between sizes. */
#include "plot/source.h"

#include "analysis/contenders.h"
#include "base/memory.h"
#include "plot/styles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALL_RIVALS_ON_GPU "(rivals)-cuda"
#define ALL_RIVALS_ON_CPU "(rivals)-cpu"

static bool belongs(const series_t *series, const char *label) {
    if (strcmp(label, ALL_RIVALS_ON_GPU) == 0 || strcmp(label, ALL_RIVALS_ON_CPU) == 0)
        return series->rival && series->on_gpu == (strcmp(label, ALL_RIVALS_ON_GPU) == 0);
    return strcmp(series->label, label) == 0;
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

/* NULL if no case of the label has a time there. */
static const case_result_t *fastest_at(const plot_data_t *data, const char *label,
                                       const char *phase, int64_t size, const series_t **whose) {
    standing_t standing = {0};
    for (size_t s = 0; s < data->n_series; s++) {
        const series_t *series = &data->series[s];
        const case_result_t *result = series_at(series, size);
        if (!belongs(series, label) || result == NULL ||
            series_times(series, phase) < least_times(data, series->label, phase))
            continue;
        const case_result_t *before = standing.fastest;
        standing_add(&standing, result, phase);
        if (standing.fastest != before)
            *whose = series;
    }
    return standing.fastest;
}

static void name_mixed(plot_data_t *data, const char *label, const series_t *one_of_it,
                       series_t *mixed) {
    const bool all_rivals = strcmp(one_of_it->label, label) != 0;
    *mixed = (series_t){.cases = mixed->cases,
                        .n_cases = mixed->n_cases,
                        .capacity = mixed->capacity,
                        .key = arena_format(&data->texts, "%s/", label),
                        .label = label,
                        .engine = all_rivals ? "" : one_of_it->engine,
                        .on_gpu = one_of_it->on_gpu,
                        .ours = one_of_it->ours,
                        .rival = one_of_it->rival,
                        .variant = ""};
    mixed->side = !all_rivals     ? one_of_it->side
                  : mixed->on_gpu ? "strongest rival"
                                  : "strongest rival on the CPU";
    mixed->title =
        arena_format(&data->texts, all_rivals ? "%s at each %s" : "%s, the fastest at each %s",
                     mixed->side, data->workload->size_noun);
    if (!all_rivals) /* which are no line in any chart */
        mixed->style = style_of_mixed(data->run, &one_of_it->cases[0]->spec);
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
    name_mixed(data, label, single, mixed);
    best.single = several ? NULL : single;
    mem_grow(&data->best, data->n_best, &data->best_capacity, sizeof *data->best);
    data->best[data->n_best++] = best;
}

void plot_best_find(plot_data_t *data) {
    const char *const phases[] = {"total", "host_to_host", plot_call_phase(data),
                                  data->compared_by};
    const size_t n_phases = phases[3] != NULL && strcmp(phases[3], phases[2]) != 0 ? 4 : 3;
    for (size_t k = 0; k < n_phases; k++) {
        for (size_t s = 0; s < data->n_series; s++)
            if (plot_is_first_of_engine(data, s))
                find(data, data->series[s].label, phases[k]);
        find(data, ALL_RIVALS_ON_GPU, phases[k]);
        find(data, ALL_RIVALS_ON_CPU, phases[k]);
    }
}

const series_t *plot_fastest_series(const plot_data_t *data, const char *label, const char *phase) {
    for (size_t i = 0; i < data->n_best; i++)
        if (strcmp(data->best[i].label, label) == 0 && strcmp(data->best[i].phase, phase) == 0)
            return data->best[i].single != NULL ? data->best[i].single : &data->best[i].mixed;
    return NULL;
}

/* A single rival has its own mixed series, with its name. */
const series_t *plot_strongest_rival(const plot_data_t *data, bool on_gpu, const char *phase) {
    const series_t *only = NULL;
    size_t n = 0;
    for (size_t s = 0; s < data->n_series; s++) {
        const series_t *series = &data->series[s];
        if (!plot_is_first_of_engine(data, s) || !series->rival || series->on_gpu != on_gpu)
            continue;
        const series_t *fastest = plot_fastest_series(data, series->label, phase);
        only = fastest != NULL ? fastest : only;
        n += fastest != NULL;
    }
    return n == 1
               ? only
               : plot_fastest_series(data, on_gpu ? ALL_RIVALS_ON_GPU : ALL_RIVALS_ON_CPU, phase);
}

bool series_is_mixed(const series_t *series) {
    return series->variant[0] == '\0';
}
