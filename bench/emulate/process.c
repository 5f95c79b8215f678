#include "emulate/process.h"

#include "base/memory.h"
#include "io/fs.h"
#include "io/subprocess.h"
#include "workloads/operator/launches.h"
#include "workloads/operator/tensor_maps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of the GPU that is emulated: few multiprocessors, so that a block of a persistent kernel has several turns. */
enum { MULTIPROCESSORS = 3, ARCH = 90 };
static const double TIMEOUT_S =
    60; /* a run takes a second; this ends a barrier that not all threads reach */

/* ---- what the program says --------------------------------------------------------------------- */

/* The last line that it wrote, or how it ended. */
static char *why_failed(const subprocess_result_t *result) {
    if (result->timed_out)
        return mem_format("it does not end (%.0f s): does every thread reach every barrier?",
                          TIMEOUT_S);
    text_list_t lines = text_split(result->err, '\n');
    const char *last = "";
    for (size_t i = 0; i < lines.n; i++)
        if (lines.items[i][0] != '\0')
            last = lines.items[i];
    char *said = text_utf8(last);
    char *reason = said[0] != '\0' ? mem_text(said)
                   : result->signal != 0
                       ? mem_format("signal %d (%s)", result->signal, strsignal(result->signal))
                       : mem_format("exit code %d", result->exit_code);
    free(said);
    text_list_free(&lines);
    return reason;
}

/* The caller frees `*reason`; NULL: it ended well. */
static status_t run_program(const char *const *argv, const char *input, char **reason,
                            error_t *err) {
    subprocess_result_t result;
    TRY(subprocess_run(argv, input, TIMEOUT_S, &result, err));
    const bool well = result.exit_code == 0 && !result.timed_out;
    *reason = well ? NULL : why_failed(&result);
    subprocess_result_free(&result);
    return STATUS_OK;
}

typedef struct tables {
    launches_t launches;
    tensor_maps_t maps;
} tables_t;

/* From the files that the program has written. */
static status_t take_tables(const char *launches_path, const char *maps_path, tables_t *tables,
                            char **reason, error_t *err) {
    char *launches = NULL, *maps = NULL;
    size_t bytes, maps_bytes;
    error_t wrong = ERROR_INIT;
    status_t status = fs_read(launches_path, &launches, &bytes, err);
    if (status == STATUS_OK)
        status = fs_read(maps_path, &maps, &maps_bytes, err);
    if (status == STATUS_OK &&
        (launches_take(launches + WORKSPACE_TEXT, bytes - WORKSPACE_TEXT, launches,
                       &tables->launches, &wrong) != STATUS_OK ||
         tensor_maps_take(maps, maps_bytes, &tables->maps, &wrong) != STATUS_OK))
        *reason = mem_text(wrong.text);
    free(launches);
    free(maps);
    return status;
}

static status_t read_tables(const char *program, const char *folder, tables_t *tables,
                            char **reason, error_t *err) {
    char *launches = fs_join(folder, "launches"), *maps = fs_join(folder, "maps");
    const char *const argv[] = {program, "tables", launches, maps, NULL};
    status_t status = run_program(argv, NULL, reason, err);
    if (status == STATUS_OK && *reason == NULL)
        status = take_tables(launches, maps, tables, reason, err);
    free(launches);
    free(maps);
    return status;
}

/* ---- what it is told (kernels/emulation/rung.h) ------------------------------------------------- */

static char *file_of(const char *folder, const operator_array_t *array) {
    return mem_format("%s/%s.bin", folder, array->name);
}

static status_t add_arrays(const operator_data_t *data, const char *folder, size_t workspace_bytes,
                           text_list_t *plan, error_t *err) {
    const operator_description_t *d = data->description;
    size_t order[OPERATOR_ARRAYS];
    description_order(d, order);
    for (size_t o = 0; o < d->n_arrays; o++) {
        const operator_array_t *array = &d->arrays[order[o]];
        const size_t bytes = data->shapes[order[o]].bytes;
        char *path = file_of(folder, array);
        text_list_add_format(plan, "array %s %zu %s %s",
                             !array->is_input   ? "output"
                             : array->is_output ? "in_place"
                                                : "input",
                             bytes, array->name, path);
        const status_t status =
            array->is_input ? fs_write_atomic(path, data->values[order[o]], bytes, err) : STATUS_OK;
        free(path);
        TRY(status);
    }
    text_list_add_format(plan, "array workspace %zu workspace -", workspace_bytes);
    return STATUS_OK;
}

static void add_values(const operator_description_t *d, const case_t *spec, text_list_t *plan) {
    for (size_t i = 0; i < d->n_scalars; i++)
        text_list_add_format(plan, "value %" PRIu64,
                             (uint64_t)description_scalar_value(d, i, spec).i64);
    for (size_t i = 0; i < d->params.n; i++)
        if (!d->constant[i])
            text_list_add_format(plan, "value %" PRIu64,
                                 (uint64_t)case_param_int(spec, d->params.items[i], 0));
}

static void add_launch(const operator_launch_t *launch, const launch_size_t *size,
                       text_list_t *plan) {
    const unsigned *grid = size->grid, *threads = size->threads, *cluster = size->cluster;
    text_list_add_format(plan, "launch %s %u %u %u %u %u %u %u %u %u %u %u", launch->entry, grid[0],
                         grid[1], grid[2], threads[0], threads[1], threads[2], size->shared,
                         cluster[0], cluster[1], cluster[2], launch->cooperative);
}

static void add_map(const operator_description_t *d, const tensor_map_size_t *size,
                    text_list_t *plan) {
    size_t order[OPERATOR_ARRAYS], argument = 0;
    text_list_t words = {0};
    description_order(d, order);
    while (order[argument] != size->array)
        argument++;
    text_list_add_format(&words, "map %zu %zu %u %u", argument, element_bytes(size->element),
                         size->swizzle, size->rank);
    for (unsigned i = 0; i < size->rank; i++)
        text_list_add_format(&words, "%" PRIu64 " %u %u %" PRIu64, size->sizes[i], size->box[i],
                             size->steps[i], i + 1 < size->rank ? size->strides[i] : 0);
    text_list_take(plan, text_list_join(&words, " "));
    text_list_free(&words);
}

/* The sizes of a case's launches and maps. */
typedef struct sizes {
    launch_size_t launches[MOST_LAUNCHES];
    tensor_map_size_t maps[MOST_TENSOR_MAPS];
    size_t workspace_bytes;
} sizes_t;

/* STATUS_FAILED: a GPU cannot launch it at these sizes, and why. */
static status_t evaluate(const tables_t *tables, const operator_description_t *d,
                         const case_t *spec, sizes_t *sizes, error_t *why) {
    operator_values_t values;
    description_values(d, spec, MULTIPROCESSORS, &values);
    for (size_t i = 0; i < tables->launches.n; i++)
        TRY(launches_size(&tables->launches.items[i], &values, ARCH, &sizes->launches[i], why));
    TRY(tensor_maps_size(&tables->maps, d, spec, MULTIPROCESSORS, sizes->maps, why));
    return launches_workspace(&tables->launches, &values, &sizes->workspace_bytes, why);
}

/* ---- a run ------------------------------------------------------------------------------------- */

static status_t take_outputs(const operator_data_t *data, const char *folder, error_t *err) {
    const operator_description_t *d = data->description;
    status_t status = STATUS_OK;
    for (size_t i = 0; i < d->n_arrays && status == STATUS_OK; i++) {
        if (!d->arrays[i].is_output)
            continue;
        char *path = file_of(folder, &d->arrays[i]), *values = NULL;
        size_t bytes;
        status = fs_read(path, &values, &bytes, err);
        if (status == STATUS_OK)
            status = operator_data_write(data, i, values, folder, err);
        free(values);
        free(path);
    }
    return status;
}

status_t emulation_run(const char *program, const case_t *spec, const operator_data_t *data,
                       const char *folder, emulated_t *how, char **reason, error_t *err) {
    tables_t tables;
    sizes_t sizes;
    text_list_t plan = {0};
    error_t why = ERROR_INIT;
    *how = EMULATED_FAILED;
    TRY(read_tables(program, folder, &tables, reason, err));
    if (*reason != NULL)
        return STATUS_OK;
    if (evaluate(&tables, data->description, spec, &sizes, &why) != STATUS_OK) {
        *how = EMULATED_SKIPPED;
        *reason = mem_text(why.text);
        return STATUS_OK;
    }
    status_t status = add_arrays(data, folder, sizes.workspace_bytes, &plan, err);
    add_values(data->description, spec, &plan);
    for (size_t i = 0; i < tables.maps.n; i++)
        add_map(data->description, &sizes.maps[i], &plan);
    for (size_t i = 0; i < tables.launches.n; i++)
        add_launch(&tables.launches.items[i], &sizes.launches[i], &plan);
    char *input = text_list_join(&plan, "\n");
    const char *const argv[] = {program, "run", NULL};
    if (status == STATUS_OK)
        status = run_program(argv, input, reason, err);
    if (status == STATUS_OK && *reason == NULL)
        status = take_outputs(data, folder, err);
    *how = *reason == NULL ? EMULATED_RUN : EMULATED_FAILED;
    free(input);
    text_list_free(&plan);
    return status;
}
