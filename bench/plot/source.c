#include "plot/source.h"

#include "analysis/learning.h"
#include "base/memory.h"
#include "io/fs.h"
#include "limits/limits.h"
#include "results/study_csv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static char *shape_of(const case_t *spec, const workload_t *workload) {
    AUTO(text_list_free) text_list_t parts = {0};
    text_list_add(&parts, spec->workload);
    for (size_t i = 0; i < spec->n_params; i++) {
        const char *name = spec->params[i].name;
        if (strcmp(name, workload->size_param) == 0)
            continue;
        AUTO_FREE char *value = value_text(&spec->params[i].value);
        text_list_add_format(&parts, "%s %s", name, value);
    }
    text_list_add(&parts, spec->dtype);
    return text_list_join(&parts, ", ");
}

/* The null engine has no times worth a chart. */
static bool chartable(const case_result_t *result) {
    return size_of(result) > 0 && strcmp(result->spec.engine, "null") != 0 &&
           !is_cold_start(result);
}

/* The shape of a case, which is added if it is new. */
static plot_data_t *data_of(plot_source_t *source, const case_result_t *result) {
    const workload_t *workload = workload_find(result->spec.workload);
    AUTO_FREE char *shape = shape_of(&result->spec, workload);
    size_t workload_place = source->n_shapes;
    for (size_t i = 0; i < source->n_shapes; i++) {
        const plot_data_t *data = &source->shapes[i];
        if (strcmp(data->shape, shape) == 0)
            return &source->shapes[i];
        if (data->workload == workload)
            workload_place = data->workload_place;
    }
    mem_grow(&source->shapes, source->n_shapes, &source->shapes_capacity, sizeof *source->shapes);
    plot_data_t *data = &source->shapes[source->n_shapes];
    *data = (plot_data_t){.run = &source->run,
                          .boots = &source->boots,
                          .workload = workload,
                          .study_csv = source->study_csv,
                          .workload_place = workload_place,
                          .place = source->n_shapes++};
    data->shape = arena_format(&data->texts, "%s", shape);
    return data;
}

static bool is_synthetic(const case_result_t *result) {
    AUTO_FREE char *dataset = result_string(result, "dataset");
    return dataset != NULL && strcmp(dataset, "synthetic") == 0;
}

/* Workloads in run order; in each the shape with the most sizes first, ties in run order, as in a
 * report. */
static int by_workload_and_sizes(const void *a, const void *b) {
    const plot_data_t *left = a, *right = b;
    if (left->workload_place != right->workload_place)
        return left->workload_place < right->workload_place ? -1 : 1;
    if (left->n_sizes != right->n_sizes)
        return left->n_sizes > right->n_sizes ? -1 : 1;
    return (left->place > right->place) - (left->place < right->place);
}

static void group_by_shape(plot_source_t *source) {
    for (size_t i = 0; i < source->run.n_cases; i++) {
        const case_result_t *result = &source->run.cases[i];
        if (!chartable(result))
            continue;
        plot_data_t *data = data_of(source, result);
        data->synthetic = data->synthetic || is_synthetic(result);
        plot_data_add(data, result);
    }
    for (size_t i = 0; i < source->n_shapes; i++) {
        plot_data_t *data = &source->shapes[i];
        if (data->study_csv) /* which does not record its shape */
            data->shape = "the study's timing log";
        else if (data->synthetic) /* every chart says so */
            data->shape = arena_format(&data->texts, "%s, dataset=synthetic", data->shape);
        plot_data_finish(data);
    }
    if (source->n_shapes > 0)
        qsort(source->shapes, source->n_shapes, sizeof *source->shapes, by_workload_and_sizes);
}

/* Another question than how long a training takes. */
static bool is_timed_by_operation(const plot_data_t *data) {
    for (size_t s = 0; s < data->n_series; s++)
        for (size_t i = 0; i < data->series[s].n_cases; i++)
            if (is_by_operation(data->series[s].cases[i]))
                return true;
    return false;
}

char *plot_setting(const plot_data_t *data, const plot_data_t *first) {
    if (is_timed_by_operation(data))
        return mem_text("");
    const case_t *own = &data->series[0].cases[0]->spec, *other = &first->series[0].cases[0]->spec;
    AUTO(text_list_free) text_list_t parts = {0};
    for (size_t i = 0; i < own->n_params; i++) {
        const char *name = own->params[i].name;
        const value_t *before = case_param(other, name);
        AUTO_FREE char *value = value_text(&own->params[i].value);
        if (strcmp(name, data->workload->size_param) != 0 && strcmp(name, "seed") != 0 &&
            (before == NULL || !value_equal(before, &own->params[i].value)))
            text_list_add_format(&parts, "%s_%s", name, value);
    }
    if (strcmp(own->dtype, other->dtype) != 0)
        text_list_add(&parts, own->dtype);
    char *setting = parts.n > 0 ? text_list_join(&parts, "_") : mem_text("");
    for (char *c = setting; *c != '\0'; c++)
        *c = isalnum((unsigned char)*c) ? *c : '_'; /* of a file's name */
    return setting;
}

/* ---- loading --------------------------------------------------------------------------------- */

static const char *fact(const record_t *run, const char *key) {
    return environment_get(&run->environment, key);
}

/* Device, date and run. A run without a GPU names its CPU, so that its charts are not mistaken for
 * those of a GPU. */
static char *footer_of(const record_t *run) {
    const char *gpu = fact(run, "gpu.name"), *driver = fact(run, "gpu.driver");
    const char *cpu = fact(run, "host.cpu");
    AUTO(text_list_free) text_list_t parts = {0};
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
    return text_list_join(&parts, "  ·  ");
}

status_t plot_source_from_run(const char *folder, plot_source_t *source, error_t *err) {
    *source = (plot_source_t){0};
    TRY(record_load(folder, &source->run, err));
    record_warn_incomplete(&source->run);
    device_rates_set_limits_again(&source->run);
    source->footer = footer_of(&source->run);
    group_by_shape(source);
    return STATUS_OK;
}

status_t plot_source_add_boots(plot_source_t *source, const text_list_t *folders, error_t *err) {
    TRY(records_load((const char *const *)folders->items, folders->n, &source->others, err));
    for (size_t i = 0; i < source->others.n; i++) {
        const record_t *boot = &source->others.items[i];
        const bool shares = boots_shared_cases(&source->run, boot, NULL) > 0;
        TRY(boots_add(&source->boots, &source->run, boot, err));
        if (!shares)
            return error_set(err, STATUS_USAGE, "%s: has no case of %s, on the same device",
                             boot->folder, source->run.folder);
    }
    return STATUS_OK;
}

/* As which their charts are known: by the files' names, places and contents. A file that cannot be read is refused
 * elsewhere. */
static void note_files(record_t *run, const char *const *paths, size_t n) {
    AUTO(text_list_free) text_list_t stems = {0}, places = {0};
    hash_t *contents = hash_new();
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *data = NULL, *place = realpath(paths[i], NULL);
        size_t size;
        error_t none = ERROR_INIT;
        text_list_take(&stems, fs_stem(paths[i]));
        text_list_add(&places, place != NULL ? place : paths[i]);
        if (fs_read(paths[i], &data, &size, &none) == STATUS_OK)
            hash_add(contents, data, size);
    }
    run->name = text_list_join(&stems, "+");
    run->folder = text_list_join(&places, ", ");
    hash_finish(contents, run->lines_digest);
}

status_t plot_source_from_csvs(const char *const *paths, size_t n_paths, plot_source_t *source,
                               error_t *err) {
    *source = (plot_source_t){.study_csv = true};
    record_t *run = &source->run;
    const char *seen[STUDY_SIDES] = {NULL};
    const study_t *study = workload_study(NULL);
    AUTO(text_list_free) text_list_t names = {0};
    for (size_t i = 0; i < n_paths; i++) {
        AUTO(study_log_free) study_log_t log = {0};
        TRY(study_csv_load(study, paths[i], &log, err));
        if (seen[log.side] != NULL)
            return error_set(err, STATUS_USAGE,
                             "%s: has the same columns as %s; one chart takes one %s log", paths[i],
                             seen[log.side], engine_name(study->sides[log.side].engine));
        seen[log.side] = paths[i];
        for (size_t c = 0; c < log.n_cases; c++) {
            mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
            run->cases[run->n_cases++] = log.cases[c];
        }
        log.n_cases = 0; /* moved to the run */
        const char *slash = strrchr(paths[i], '/');
        text_list_add(&names, slash != NULL ? slash + 1 : paths[i]);
    }
    note_files(run, paths, n_paths);
    AUTO_FREE char *list = text_list_join(&names, ", ");
    source->footer = mem_format("GPU and date are not recorded in the file  ·  %s", list);
    group_by_shape(source);
    return STATUS_OK;
}

void plot_source_free(plot_source_t *source) {
    for (size_t i = 0; i < source->n_shapes; i++)
        plot_data_free(&source->shapes[i]);
    free(source->shapes);
    free(source->footer);
    boots_free(&source->boots);
    records_free(&source->others);
    record_free(&source->run);
    *source = (plot_source_t){0};
}
