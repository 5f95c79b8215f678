#include "compare/compare.h"

#include "base/memory.h"
#include "compare/comparison.h"
#include "io/output.h"

#include <stdlib.h>
#include <sys/stat.h>

/* A different schema is not a broken file, but a run that cannot be compared. */
static status_t check_schema(const char *folder, error_t *err) {
    long long schema;
    TRY(record_read_schema(folder, &schema, err));
    if (schema >= RESULT_OLDEST_SCHEMA && schema <= RESULT_SCHEMA)
        return STATUS_OK;
    return error_set(err, STATUS_INCOMPARABLE,
                     "%s/run.json: found schema %lld, expected %d to %d: made by a different "
                     "version",
                     folder, schema, RESULT_OLDEST_SCHEMA, RESULT_SCHEMA);
}

typedef void (*print_t)(const comparison_t *comparison, FILE *out);

static status_t write_file(const char *path, print_t print, const comparison_t *comparison,
                           error_t *err) {
    if (path == NULL)
        return STATUS_OK;
    AUTO_FREE char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    print(comparison, out);
    fclose(out);
    return output_write_file(path, text, size, err);
}

static status_t learn_floor(const compare_options_t *options, const comparison_t *comparison,
                            error_t *err) {
    floors_t *floors = floors_of_pair(comparison);
    if (!options->json)
        compare_print_floors(comparison, floors, options->print);
    status_t status = floors_save(floors, options->candidate, err);
    floors_free(floors);
    return status;
}

static status_t report(const compare_options_t *options, const comparison_t *comparison,
                       error_t *err) {
    if (options->json)
        compare_print_json(comparison, options->print);
    else
        compare_print_table(comparison, options->all, options->print);
    if (options->learn_floor)
        TRY(learn_floor(options, comparison, err));
    TRY(write_file(options->markdown, compare_print_markdown, comparison, err));
    TRY(write_file(options->junit, compare_print_junit, comparison, err));
    return comparison_status(comparison, options->strict);
}

/* Runs are BASE, CANDIDATE, then those for noise floors. */
static const char *folder_of(const compare_options_t *options, size_t i) {
    return i == 0 ? options->base : i == 1 ? options->candidate : options->floors.items[i - 2];
}

static bool is_same_folder(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Noise floors from CANDIDATE itself would hide any regression. */
static status_t check_floors(const compare_options_t *options, error_t *err) {
    for (size_t i = 0; i < options->floors.n; i++)
        for (size_t k = 0; k < i + 2; k++)
            if (is_same_folder(options->floors.items[i], folder_of(options, k)))
                return error_set(err, STATUS_USAGE, "--floor %s: expected a run other than %s",
                                 options->floors.items[i],
                                 k == 0   ? "BASE"
                                 : k == 1 ? "CANDIDATE"
                                          : "the ones before it");
    return STATUS_OK;
}

static status_t check_files(const compare_options_t *options, error_t *err) {
    const char *const files[] = {options->markdown, options->junit};
    for (size_t i = 0; i < 2; i++)
        if (files[i] != NULL)
            TRY(record_refuse_own_file(files[i], err));
    return check_floors(options, err);
}

static void print_all(const comparison_t *comparison, FILE *out) {
    compare_print_table(comparison, true, out);
}

/* From the runs after the first two. One without a case in common teaches nothing. */
static status_t learn_floors(const compare_options_t *options, const record_t *runs,
                             floors_t **floors, error_t *err) {
    TRY(floors_learn(&runs[0], runs + 2, options->floors.n, floors, err));
    for (size_t i = 0; i < options->floors.n; i++) {
        error_t ignored = ERROR_INIT;
        AUTO(comparison_free) comparison_t comparison = {0};
        const comparison_options_t as_compared = {.phases = &options->phases,
                                                  .threshold_frac = options->threshold_frac};
        if (comparison_make(&runs[0], &runs[2 + i], &as_compared, &comparison, &ignored) ==
            STATUS_OK)
            floors_add_groups(*floors, &comparison);
    }
    return STATUS_OK;
}

static status_t compare_loaded(const compare_options_t *options, const record_t *runs,
                               error_t *err) {
    AUTO(comparison_free) comparison_t comparison = {0};
    floors_t *floors = NULL;
    status_t status = options->floors.n > 0 ? learn_floors(options, runs, &floors, err)
                                            : floors_load(runs[0].folder, &floors, err);
    if (status == STATUS_OK && options->save_floor)
        status = floors_save(floors, options->base, err);
    if (status == STATUS_OK)
        status = comparison_make(&runs[0], &runs[1],
                                 &(comparison_options_t){floors, &options->phases, &options->allow,
                                                         options->threshold_frac},
                                 &comparison, err);
    if (status == STATUS_OK)
        status = report(options, &comparison, err);
    else if (comparison.n_pairs > 0) /* no case can be compared: each with its reason */
        (options->json ? compare_print_json : print_all)(&comparison, options->print);
    floors_free(floors);
    return status;
}

static status_t load_and_compare(const compare_options_t *options, error_t *err) {
    AUTO(text_list_free) text_list_t folders = {0};
    record_t *runs;
    status_t status = STATUS_OK;
    for (size_t i = 0; i < 2 + options->floors.n; i++)
        text_list_add(&folders, folder_of(options, i));
    for (size_t i = 0; i < folders.n && status == STATUS_OK; i++)
        status = check_schema(folders.items[i], err);
    if (status == STATUS_OK)
        status = records_load((const char *const *)folders.items, folders.n, &runs, err);
    if (status == STATUS_OK) {
        status = compare_loaded(options, runs, err);
        records_free(runs, folders.n);
    }
    return status;
}

status_t compare_runs(const compare_options_t *options, error_t *err) {
    TRY(check_files(options, err));
    return load_and_compare(options, err);
}
