#include "plot_data.h"

#include "contender_name.h"

#include "ground/fs.h"
#include "ground/memory.h"
#include "steps/study_csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char WORKLOAD[] = "mlp_infer";

/* Engines in the order of legends, what they are called there, and the line types of their
 * variants: the first `prefix` that the variant's name starts with. plots/style.gp says what each
 * looks like. */
static const struct engine_style {
    const char *label, *title;
    struct {
        const char *prefix;
        int style;
    } variants[8];
} ENGINES[] = {
    {"cuda",
     "CUDA ",
     {{"01", 1}, {"02", 2}, {"03", 3}, {"04", 4}, {"05", 5}, {"06", 6}, {"07", 7}, {"", 8}}},
    {"pytorch-cuda",
     "PyTorch ",
     {{"eager", 9}, {"inference", 10}, {"compile", 11}, {"graph", 12}, {"", 13}}},
    {"cpu", "C on the CPU, ", {{"omp", 14}, {"ref", 15}, {"", 16}}},
    {"pytorch-cpu", "PyTorch on the CPU, ", {{"eager", 17}, {"compile", 18}, {"", 19}}},
};
enum { N_ENGINES = sizeof ENGINES / sizeof *ENGINES, FIRST_OTHER_STYLE = 29, N_OTHER_STYLES = 4 };

int64_t batch_of(const case_result_t *result) {
    return case_param_int(&result->spec, "batch", 0);
}

/* ---- series -------------------------------------------------------------------------------- */

size_t plot_engine_rank(const char *label) {
    size_t rank = 0;
    while (rank < N_ENGINES && strcmp(ENGINES[rank].label, label) != 0)
        rank++;
    return rank;
}

static void name_series(series_t *series, const case_t *spec, bool study_csv) {
    char *name = contender_name(spec);
    size_t rank = plot_engine_rank(series->label);
    if (rank == N_ENGINES) { /* its style is given when all are known */
        series->title = mem_format("%s %s", series->label, name);
        free(name);
        return;
    }
    const struct engine_style *engine = &ENGINES[rank];
    size_t i = 0;
    while (!text_starts(series->variant, engine->variants[i].prefix))
        i++;
    series->style = engine->variants[i].style;
    /* From a study's log, one contender a side, and its set-up is not in the file. */
    series->title = study_csv ? mem_text_n(engine->title, strcspn(engine->title, " "))
                              : mem_format("%s%s", engine->title, name);
    free(name);
}

static void add_to_series(plot_data_t *data, const case_result_t *result) {
    char label[32];
    const char *engine = case_engine_label(&result->spec, label);
    if (strcmp(result->spec.engine, "null") == 0)
        return; /* it times nothing that a chart could show */
    text_list_t changed = changed_techniques(&result->spec);
    char *techniques = text_list_join(&changed, "/");
    char *key =
        mem_format("%s/%s%s%s", engine, result->spec.variant, changed.n > 0 ? "/" : "", techniques);
    free(techniques);
    size_t i = 0;
    while (i < data->n_series && strcmp(data->series[i].key, key) != 0)
        i++;
    if (i == data->n_series) {
        mem_grow(&data->series, data->n_series, &data->series_capacity, sizeof *data->series);
        series_t *fresh = &data->series[data->n_series++];
        *fresh = (series_t){.key = mem_text(key),
                            .label = mem_text(engine),
                            .variant = mem_text(result->spec.variant),
                            .standard = changed.n == 0};
        name_series(fresh, &result->spec, data->study_csv);
    }
    series_t *series = &data->series[i];
    mem_grow(&series->cases, series->n_cases, &series->capacity, sizeof *series->cases);
    series->cases[series->n_cases++] = result;
    text_list_free(&changed);
    free(key);
}

static int by_batch(const void *a, const void *b) {
    int64_t left = batch_of(*(const case_result_t *const *)a);
    int64_t right = batch_of(*(const case_result_t *const *)b);
    return (left > right) - (left < right);
}

static int by_integer(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static int by_rank(const void *a, const void *b) {
    const series_t *left = a, *right = b;
    size_t left_rank = plot_engine_rank(left->label), right_rank = plot_engine_rank(right->label);
    if (left_rank != right_rank)
        return left_rank < right_rank ? -1 : 1;
    if (left->style != right->style)
        return left->style < right->style ? -1 : 1;
    return strcmp(left->key, right->key);
}

/* Contenders that a user added have no line types of their own: they take turns with a few. */
static void style_others(plot_data_t *data) {
    size_t n = 0;
    for (size_t i = 0; i < data->n_series; i++)
        if (plot_engine_rank(data->series[i].label) == N_ENGINES)
            data->series[i].style = FIRST_OTHER_STYLE + (int)(n++ % N_OTHER_STYLES);
}

const char *plot_engine_title(const char *label) {
    size_t rank = plot_engine_rank(label);
    return rank < N_ENGINES ? ENGINES[rank].title : label;
}

bool series_is_other(const series_t *series) {
    return plot_engine_rank(series->label) == N_ENGINES;
}

/* ---- shape ------------------------------------------------------------------------------------
 */

static char *shape_of(const case_t *spec) {
    text_list_t parts = {0};
    text_list_add(&parts, spec->workload);
    for (size_t i = 0; i < spec->n_params; i++) {
        if (strcmp(spec->params[i].name, "batch") == 0)
            continue;
        char *value = value_text(&spec->params[i].value);
        text_list_add_format(&parts, "%s %s", spec->params[i].name, value);
        free(value);
    }
    text_list_add(&parts, spec->dtype);
    char *shape = text_list_join(&parts, ", ");
    text_list_free(&parts);
    return shape;
}

static bool chartable(const case_result_t *result) {
    return strcmp(result->spec.workload, WORKLOAD) == 0 && batch_of(result) > 0 &&
           !is_cold_start(result);
}

/* The shape with the most cases, the first of equals; NULL when no case can be charted. */
static char *commonest_shape(const run_record_t *run) {
    text_list_t shapes = {0};
    size_t *counts = mem_zeroed(run->n_cases, sizeof *counts);
    size_t best = 0;
    for (size_t i = 0; i < run->n_cases; i++) {
        if (!chartable(&run->cases[i]))
            continue;
        char *shape = shape_of(&run->cases[i].spec);
        size_t s = 0;
        while (s < shapes.n && strcmp(shapes.items[s], shape) != 0)
            s++;
        if (s == shapes.n)
            text_list_add(&shapes, shape);
        counts[s]++;
        free(shape);
    }
    for (size_t s = 1; s < shapes.n; s++)
        if (counts[s] > counts[best])
            best = s;
    char *shape = shapes.n > 0 ? mem_text(shapes.items[best]) : NULL;
    text_list_free(&shapes);
    free(counts);
    return shape;
}

static void collect_batches(plot_data_t *data) {
    size_t n = 0;
    for (size_t s = 0; s < data->n_series; s++)
        n += data->series[s].n_cases;
    data->batches = mem_zeroed(n, sizeof *data->batches);
    n = 0;
    for (size_t s = 0; s < data->n_series; s++)
        for (size_t i = 0; i < data->series[s].n_cases; i++)
            data->batches[n++] = batch_of(data->series[s].cases[i]);
    qsort(data->batches, n, sizeof *data->batches, by_integer);
    for (size_t i = 0; i < n; i++)
        if (data->n_batches == 0 || data->batches[data->n_batches - 1] != data->batches[i])
            data->batches[data->n_batches++] = data->batches[i];
}

static void group_into_series(plot_data_t *data) {
    data->shape = commonest_shape(&data->run);
    for (size_t i = 0; data->shape != NULL && i < data->run.n_cases; i++) {
        const case_result_t *result = &data->run.cases[i];
        char *shape = shape_of(&result->spec);
        if (chartable(result) && strcmp(shape, data->shape) == 0)
            add_to_series(data, result);
        free(shape);
    }
    for (size_t s = 0; s < data->n_series; s++)
        qsort(data->series[s].cases, data->series[s].n_cases, sizeof(case_result_t *), by_batch);
    if (data->n_series > 0)
        qsort(data->series, data->n_series, sizeof *data->series, by_rank);
    style_others(data);
    collect_batches(data);
    plot_best_find(data);
}

/* ---- loading ----------------------------------------------------------------------------------
 */

static const char *fact(const run_record_t *run, const char *key) {
    return environment_get(&run->environment, key);
}

/* Which device, when, which run. A run without a GPU is named by its CPU, so that nobody takes its
 * charts for those of a GPU. */
static char *footer_of(const run_record_t *run) {
    const char *gpu = fact(run, "gpu.name"), *driver = fact(run, "gpu.driver");
    const char *cpu = fact(run, "host.cpu");
    text_list_t parts = {0};
    if (gpu != NULL && driver != NULL)
        text_list_add_format(&parts, "%s, driver %s", gpu, driver);
    else if (gpu != NULL)
        text_list_add(&parts, gpu);
    if (cpu != NULL)
        text_list_add_format(&parts, "%s%s", gpu == NULL ? "no GPU, " : "", cpu);
    if (parts.n == 0)
        text_list_add(&parts, "device not recorded");
    if (run->started != NULL)
        text_list_add_format(&parts, "%.10s", run->started);
    text_list_add_format(&parts, "run %s", run->name);
    char *footer = text_list_join(&parts, "  ·  ");
    text_list_free(&parts);
    return footer;
}

status_t plot_data_from_run(const char *folder, plot_data_t *data, error_t *err) {
    *data = (plot_data_t){0};
    TRY(run_load(folder, &data->run, err));
    /* The name becomes a folder: "." and ".." are none. */
    data->name = mem_text(text_is_name(data->run.name) ? data->run.name : "run");
    data->footer = footer_of(&data->run);
    group_into_series(data);
    return STATUS_OK;
}

/* Moves the log's cases to the end of the run's. */
static void take_cases(run_record_t *run, study_log_t *log) {
    for (size_t i = 0; i < log->n_cases; i++) {
        mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
        run->cases[run->n_cases++] = log->cases[i];
    }
    log->n_cases = 0;
}

status_t plot_data_from_csvs(const char *const *paths, size_t n_paths, plot_data_t *data,
                             error_t *err) {
    *data = (plot_data_t){.study_csv = true, .name = mem_text("study")};
    const char *seen[] = {[STUDY_CUDA] = NULL, [STUDY_PYTORCH] = NULL};
    text_list_t names = {0};
    status_t status = STATUS_OK;
    for (size_t i = 0; i < n_paths && status == STATUS_OK; i++) {
        study_log_t log;
        status = study_csv_load(paths[i], &log, err);
        if (status != STATUS_OK)
            break;
        if (seen[log.kind] != NULL)
            status = error_set(
                err, STATUS_USAGE, "%s: has the same columns as %s; one chart takes one %s log",
                paths[i], seen[log.kind], log.kind == STUDY_CUDA ? "CUDA" : "PyTorch");
        seen[log.kind] = paths[i];
        take_cases(&data->run, &log);
        study_log_free(&log);
        const char *slash = strrchr(paths[i], '/');
        text_list_add(&names, slash != NULL ? slash + 1 : paths[i]);
    }
    char *list = text_list_join(&names, ", ");
    data->footer = mem_format("GPU and date are not recorded in the file  ·  %s", list);
    free(list);
    text_list_free(&names);
    if (status == STATUS_OK) {
        group_into_series(data);
        free(data->shape); /* the file does not say */
        data->shape = mem_text("the study's timing log");
    } else {
        plot_data_free(data);
    }
    return status;
}

void plot_data_free(plot_data_t *data) {
    for (size_t i = 0; i < data->n_series; i++) {
        free(data->series[i].key);
        free(data->series[i].title);
        free(data->series[i].label);
        free(data->series[i].variant);
        free(data->series[i].cases);
    }
    free(data->series);
    plot_best_free(data);
    free(data->batches);
    free(data->name);
    free(data->shape);
    free(data->footer);
    run_free(&data->run);
    *data = (plot_data_t){0};
}

/* ---- asking -----------------------------------------------------------------------------------
 */

const case_result_t *series_at(const series_t *series, int64_t batch) {
    for (size_t i = 0; i < series->n_cases; i++)
        if (batch_of(series->cases[i]) == batch)
            return series->cases[i];
    return NULL;
}

size_t series_times(const series_t *series, const char *phase) {
    size_t n = 0;
    for (size_t i = 0; i < series->n_cases; i++)
        n += isfinite(result_median(series->cases[i], phase));
    return n;
}

bool series_has_phase(const series_t *series, const char *phase) {
    return series_times(series, phase) > 0;
}

static bool series_has_times(const series_t *series) {
    for (size_t i = 0; i < series->n_cases; i++)
        if (result_has_times(series->cases[i]))
            return true;
    return false;
}

const series_t *plot_usual_series(const plot_data_t *data, const char *label) {
    const char *variant = strcmp(label, "cuda") == 0  ? "01_"
                          : strcmp(label, "cpu") == 0 ? "omp"
                                                      : "eager";
    for (size_t i = 0; i < data->n_series; i++) {
        const series_t *series = &data->series[i];
        if (strcmp(series->label, label) == 0 && series->standard &&
            text_starts(series->variant, variant) && series_has_times(series))
            return series;
    }
    return NULL;
}
