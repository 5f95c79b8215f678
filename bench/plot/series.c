/* Cases grouped by contender, their names and line types. */
#include "plot/source.h"

#include "analysis/contenders.h"
#include "analysis/speedup.h"
#include "base/memory.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== line types ================================================================================ */

/* Line types that belong to a variant: of the first `pattern` that its name matches. Other variants
 * of rivals have those of style_of_rival(). */
static const struct variant_style {
    const char *label, *pattern;
    int style;
} VARIANTS[] = {
    {"cuda", "01*", 1},
    {"cuda", "02*", 2},
    {"cuda", "03*", 3},
    {"cuda", "04*", 4},
    {"cuda", "05*", 5},
    {"cuda", "06*", 6},
    {"cuda", "07*", 7},
    {"cuda", "08*", 8},
    {"cuda", "09*", 130},
    {"cuda", "10*", 131},
    {"cuda", "caching*", 65},
    {"cuda", "malloc*", 66},
    {"cuda", "async*", 67},
    {"cuda", "arena*", 68},
    {"cuda", "*", 132},
    {"cpu", "omp*", 14},
    {"cpu", "ref*", 15},
    {"cpu", "*", 16},
    {"pytorch-cuda", "eager", 9},
    {"pytorch-cuda", "inference", 10},
    {"pytorch-cuda", "compile", 11},
    {"pytorch-cuda", "graph", 12},
    {"pytorch-cuda", "compile_graph", 37},
    {"pytorch-cpu", "eager", 17},
    {"pytorch-cpu", "compile", 18},
};
enum { N_VARIANTS = sizeof VARIANTS / sizeof *VARIANTS };

/* Line types of rivals: a colour each; of a colour those of variants, on the GPU, then on the CPU. */
enum {
    FIRST_OF_RIVALS = 70,
    N_COLOURS = 6,
    N_OF_COLOUR = 4,
    FIRST_MIXED_OF_RIVALS = FIRST_OF_RIVALS + 2 * N_COLOURS * N_OF_COLOUR,
    MIXED_OF_OURS = 33,
};

static int is_on_cpu(const case_t *spec) {
    return spec->device == NULL || strcmp(spec->device, "cuda") != 0;
}

static int style_of_variant(const char *label, const char *variant) {
    for (size_t i = 0; i < N_VARIANTS; i++)
        if (strcmp(VARIANTS[i].label, label) == 0 && fnmatch(VARIANTS[i].pattern, variant, 0) == 0)
            return VARIANTS[i].style;
    return 0;
}

/* Engines without a name of their own: in their order in the whole run. */
static int colour_of(const record_t *run, const char *engine) {
    AUTO(text_list_free) text_list_t before = {0};
    if (known_rival(engine) < KNOWN_RIVALS)
        return (int)known_rival(engine);
    for (size_t i = 0; i < run->n_cases; i++) {
        const char *other = run->cases[i].spec.engine;
        if (engine_is_rival(other) && known_rival(other) == KNOWN_RIVALS &&
            engine_order(other, engine) < 0)
            text_list_add_new(&before, other);
    }
    return KNOWN_RIVALS + (int)(before.n % (N_COLOURS - KNOWN_RIVALS));
}

/* Variants in the order of their names in the whole run. */
static int style_of_rival(const record_t *run, const case_t *spec, const char *label) {
    AUTO(text_list_free) text_list_t before = {0};
    char other_label[32];
    for (size_t i = 0; i < run->n_cases; i++) {
        const case_t *other = &run->cases[i].spec;
        if (strcmp(case_engine_label(other, other_label), label) == 0 &&
            style_of_variant(label, other->variant) == 0 &&
            strcmp(other->variant, spec->variant) < 0)
            text_list_add_new(&before, other->variant);
    }
    const int place = (int)(before.n % N_OF_COLOUR);
    return FIRST_OF_RIVALS + N_OF_COLOUR * (2 * colour_of(run, spec->engine) + is_on_cpu(spec)) +
           place;
}

static int style_of_case(const record_t *run, const case_t *spec) {
    char text[32];
    const char *label = case_engine_label(spec, text);
    const int style = style_of_variant(label, spec->variant);
    return style != 0 ? style : style_of_rival(run, spec, label);
}

int style_of_mixed(const record_t *run, const case_t *spec) {
    return engine_is_ours(spec->engine)
               ? MIXED_OF_OURS + is_on_cpu(spec)
               : FIRST_MIXED_OF_RIVALS + 2 * colour_of(run, spec->engine) + is_on_cpu(spec);
}

/* ==== series ==================================================================================== */

int64_t size_of(const case_result_t *result) {
    const workload_t *workload = workload_find(result->spec.workload);
    bool sized = workload != NULL && workload->size_param != NULL;
    return sized ? case_param_int(&result->spec, workload->size_param, 0) : 0;
}

const char *series_title_of(arena_t *texts, const series_t *series, const char *name) {
    return arena_format(texts, series->on_gpu ? "%s %s" : "%s, %s", series->side, name);
}

static void name_series(plot_data_t *data, series_t *series, const case_t *spec) {
    const char *name = arena_keep(&data->texts, contender_name(spec));
    series->engine = spec->engine;
    series->on_gpu = spec->device != NULL && strcmp(spec->device, "cuda") == 0;
    series->side = arena_format(&data->texts, "%s%s", engine_name(spec->engine),
                                series->on_gpu ? "" : " on the CPU");
    const platform_t *platform = platform_of(data->run, spec->workload, spec->device);
    series->ours = platform_is_ours(platform, spec);
    series->rival = platform_is_rival(platform, spec);
    series->style = style_of_case(data->run, spec);
    /* A study's log has one contender a side, and its set-up is not in the file. */
    series->title = data->study_csv ? series->side : series_title_of(&data->texts, series, name);
}

void plot_data_add(plot_data_t *data, const case_result_t *result) {
    char label[32];
    const case_t *spec = &result->spec;
    AUTO(text_list_free) text_list_t changed = changed_techniques(spec);
    const char *engine = arena_format(&data->texts, "%s", case_engine_label(spec, label));
    const char *techniques = arena_keep(&data->texts, text_list_join(&changed, "/"));
    const char *key = arena_format(&data->texts, "%s/%s%s%s", engine, spec->variant,
                                   changed.n > 0 ? "/" : "", techniques);
    size_t i = 0;
    while (i < data->n_series && strcmp(data->series[i].key, key) != 0)
        i++;
    if (i == data->n_series) {
        mem_grow(&data->series, data->n_series, &data->series_capacity, sizeof *data->series);
        data->series[data->n_series++] = (series_t){
            .key = key, .label = engine, .variant = spec->variant, .is_default = changed.n == 0};
        name_series(data, &data->series[i], spec);
    }
    series_t *series = &data->series[i];
    series->algorithmic = series->algorithmic || result_is_algorithmic(result);
    series->self_reported = series->self_reported || result->trust == TRUST_SELF_REPORTED;
    mem_grow(&series->cases, series->n_cases, &series->capacity, sizeof *series->cases);
    series->cases[series->n_cases++] = result;
}

static int by_size(const void *a, const void *b) {
    int64_t left = size_of(*(const case_result_t *const *)a);
    int64_t right = size_of(*(const case_result_t *const *)b);
    return (left > right) - (left < right);
}

/* The GPU first, then ours. */
static int by_rank(const void *a, const void *b) {
    const series_t *left = a, *right = b;
    const int order = engine_order(left->engine, right->engine);
    if (left->on_gpu != right->on_gpu)
        return left->on_gpu ? -1 : 1;
    if (order != 0)
        return order;
    if (left->style != right->style)
        return left->style < right->style ? -1 : 1;
    return strcmp(left->key, right->key);
}

static void collect_sizes(plot_data_t *data) {
    size_t n = 0;
    for (size_t s = 0; s < data->n_series; s++)
        n += data->series[s].n_cases;
    data->sizes = mem_zeroed(n, sizeof *data->sizes);
    n = 0;
    for (size_t s = 0; s < data->n_series; s++)
        for (size_t i = 0; i < data->series[s].n_cases; i++)
            data->sizes[n++] = size_of(data->series[s].cases[i]);
    data->n_sizes = sizes_once(data->sizes, n);
}

void plot_data_free(plot_data_t *data) {
    for (size_t i = 0; i < data->n_series; i++)
        free(data->series[i].cases);
    for (size_t i = 0; i < data->n_best; i++)
        free(data->best[i].mixed.cases);
    free(data->series);
    free(data->best);
    free(data->sizes);
    arena_free(&data->texts);
}

const double *result_ci95(const case_result_t *result, const char *phase) {
    static const double NONE[] = {NAN, NAN};
    bool has_median = isfinite(result_median(result, phase));
    return has_median ? result_phase(result, phase)->summary.ci95 : NONE;
}

const case_result_t *series_at(const series_t *series, int64_t size) {
    for (size_t i = 0; i < series->n_cases; i++)
        if (size_of(series->cases[i]) == size)
            return series->cases[i];
    return NULL;
}

const case_result_t *series_default_at(const series_t *series, int64_t size) {
    return series->is_default ? series_at(series, size) : NULL;
}

bool series_is_oracle(const series_t *series) {
    return strcmp(series->label, "cpu") == 0 && strcmp(series->variant, "ref") == 0;
}

size_t plot_first_size(const plot_data_t *data, size_t room) {
    return data->n_sizes > room ? data->n_sizes - room : 0;
}

bool plot_is_first_of_engine(const plot_data_t *data, size_t s) { /* sorted by engine */
    return s == 0 || strcmp(data->series[s].label, data->series[s - 1].label) != 0;
}

static size_t series_times(const series_t *series, const char *phase) {
    size_t n = 0;
    for (size_t i = 0; i < series->n_cases; i++)
        n += isfinite(result_median(series->cases[i], phase));
    return n;
}

bool series_has_phase(const series_t *series, const char *phase) {
    return series_times(series, phase) > 0;
}

const char *plot_call_phase(const plot_data_t *data) {
    size_t n[2] = {0}, in_graph[2] = {0};
    for (size_t i = 0; i < data->n_series; i++) {
        const bool rival = data->series[i].rival;
        n[rival] += data->series[i].on_gpu;
        in_graph[rival] += series_has_phase(&data->series[i], CALL_IN_GRAPH);
    }
    const bool shared = (n[0] == 0 || in_graph[0] > 0) && (n[1] == 0 || in_graph[1] > 0);
    return shared && n[0] + n[1] > 0 ? CALL_IN_GRAPH : ONE_CALL;
}

/* The workload's phase; of COMPUTATION, that which both sides on the GPU have. May be NULL. */
static const char *plot_compared_by(const plot_data_t *data) {
    const char *own = data->workload->compared_by;
    return own != NULL && strcmp(own, COMPUTATION) == 0 ? plot_call_phase(data) : own;
}

static bool series_has_times(const series_t *series) {
    for (size_t i = 0; i < series->n_cases; i++)
        if (result_has_times(series->cases[i]))
            return true;
    return false;
}

/* Does it stand for its engine, which was run at other sizes, too? */
static bool has_most_sizes(const plot_data_t *data, const series_t *series) {
    size_t most = 0;
    for (size_t i = 0; i < data->n_series; i++)
        if (strcmp(data->series[i].label, series->label) == 0 && data->series[i].n_cases > most)
            most = data->series[i].n_cases;
    return 2 * series->n_cases >= most;
}

const series_t *plot_default_series(const plot_data_t *data, const char *label) {
    static const struct {
        const char *label, *pattern;
    } OF_STUDY[] = {
        {"cuda", "01_*"}, {"cpu", "omp"}, {"pytorch-cuda", "eager"}, {"pytorch-cpu", "eager"}};
    for (size_t k = 0; k < sizeof OF_STUDY / sizeof *OF_STUDY; k++)
        for (size_t i = 0; i < data->n_series; i++) {
            const series_t *series = &data->series[i];
            if (strcmp(OF_STUDY[k].label, label) == 0 && strcmp(series->label, label) == 0 &&
                series->is_default && fnmatch(OF_STUDY[k].pattern, series->variant, 0) == 0 &&
                series_has_times(series) && has_most_sizes(data, series))
                return series;
        }
    return NULL;
}

/* ---- the fastest of each engine at each size: it may differ between sizes ---------------------- */

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

static void find_best(plot_data_t *data) {
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

void plot_data_finish(plot_data_t *data) {
    for (size_t s = 0; s < data->n_series; s++)
        qsort(data->series[s].cases, data->series[s].n_cases, sizeof(case_result_t *), by_size);
    qsort(data->series, data->n_series, sizeof *data->series, by_rank);
    collect_sizes(data);
    data->compared_by = plot_compared_by(data);
    find_best(data);
}
