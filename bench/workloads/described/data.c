#include "workloads/described/data.h"

#include "base/memory.h"
#include "io/fs.h"
#include "io/npy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- inputs that a function makes ------------------------------------------------------------- */

static status_t read_exactly(const char *path, void *values, size_t bytes, error_t *err) {
    int fd;
    size_t size, n = 0;
    ssize_t part = 1;
    TRY(fs_open_file(path, &fd, &size, err));
    while (size == bytes && n < bytes && part > 0)
        n += (size_t)((part = read(fd, (char *)values + n, bytes - n)) > 0 ? part : 0);
    close(fd);
    return n == bytes
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "%s: %zu bytes, expected %zu", path, size, bytes);
}

/* The values stay if they cannot be read: described_data_check() says so. */
static void read_made(const described_data_t *data, size_t i, void *values, uint64_t refill) {
    if (data->made == NULL) {
        error_set(data->lost, STATUS_FAILED, "%s: a function makes it, and no file was handed over",
                  data->shapes[i].name);
        return;
    }
    AUTO_FREE char *path =
        mem_format("%s/%" PRIu64 "/%s", data->made, refill, data->shapes[i].name);
    read_exactly(path, values, data->shapes[i].bytes, data->lost);
}

status_t described_data_check(const described_data_t *data, error_t *err) {
    return data->lost->text[0] == '\0'
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "an input: %s", data->lost->text);
}

static described_data_t *make(const described_data_t *shape) {
    described_data_t *data = mem_zeroed(1, sizeof *data);
    *data = *shape;
    data->key = mem_text(data->key);
    data->made = mem_text(data->made);
    data->lost = mem_zeroed(1, sizeof *data->lost);
    for (size_t i = 0; i < data->n_arrays; i++) {
        const described_shape_t *size = &data->shapes[i];
        if (!size->array->is_input)
            continue;
        data->values[i] = mem_alloc(size->bytes);
        if (fill_is_made(size->fill.kind))
            read_made(data, i, data->values[i], 0);
        else
            fill_array(data->values[i], size->n, size->element, &size->fill, data->seed,
                       (uint32_t)i);
    }
    return data;
}

/* Constants and data are the same in each refill: those in place are made again, as a whole training has changed them. */
void described_data_fill(const described_data_t *data, size_t i, void *values, uint64_t refill) {
    const described_shape_t *size = &data->shapes[i];
    const fill_kind_t kind = size->fill.kind;
    const bool is_fixed = kind == FILL_CONSTANT || kind == FILL_DATA;
    if (is_fixed && !size->array->is_output)
        return;
    if (fill_is_made(kind))
        read_made(data, i, values, is_fixed ? 0 : refill);
    else
        fill_again(values, size->n, size->element, &size->fill, fill_key(data->seed, refill),
                   (uint32_t)i);
}

/* Of all open cases. */
static described_data_t *first;

described_data_t *described_data_take(const description_t *description, const case_t *spec,
                                      uint64_t seed, const char *made) {
    described_data_t shape = {.description = description, .seed = seed, .made = (char *)made};
    AUTO(text_list_free) text_list_t parts = {0};
    error_t impossible = ERROR_INIT; /* the case has passed workload_check() */
    text_list_add(&parts, spec->dtype);
    for (size_t i = 0; i < spec->n_params; i++)
        text_list_take(&parts, value_text(&spec->params[i].value));
    description_arrays(description, spec, shape.shapes, &shape.n_arrays, &impossible);
    AUTO_FREE char *key = text_list_join(&parts, " ");
    shape.key = key;
    described_data_t *data = first;
    while (data != NULL &&
           (data->description != description || data->seed != seed || strcmp(data->key, key) != 0))
        data = data->next;
    if (data == NULL) {
        data = make(&shape);
        data->next = first;
        first = data;
    }
    data->users++;
    described_data_refill(data, 0);
    return data;
}

void described_data_refill(described_data_t *data, uint64_t seed) {
    for (size_t i = 0; i < data->n_arrays; i++) {
        if (data->values[i] != NULL && data->refilled[i] != seed)
            described_data_fill(data, i, data->values[i], seed);
        data->refilled[i] = seed;
    }
}

void described_data_release(described_data_t *data) {
    if (--data->users > 0)
        return;
    described_data_t **at = &first;
    while (*at != data)
        at = &(*at)->next;
    *at = data->next;
    for (size_t i = 0; i < data->n_arrays; i++)
        free(data->values[i]);
    free(data->key);
    free(data->made);
    free(data->lost);
    free(data);
}

/* ---- outputs --------------------------------------------------------------------------------- */

random_kind_t described_random_kind(element_t element) {
    static const random_kind_t KINDS[ELEMENT_KINDS] = {
        [ELEMENT_F32] = RANDOM_F32,    [ELEMENT_F16] = RANDOM_F16,    [ELEMENT_BF16] = RANDOM_BF16,
        [ELEMENT_F64] = RANDOM_F64,    [ELEMENT_I32] = RANDOM_BYTES,  [ELEMENT_I64] = RANDOM_BYTES,
        [ELEMENT_U8] = RANDOM_BYTES,   [ELEMENT_BOOL] = RANDOM_BYTES, [ELEMENT_I8] = RANDOM_BYTES,
        [ELEMENT_E4M3] = RANDOM_BYTES, [ELEMENT_E5M2] = RANDOM_BYTES};
    return KINDS[element];
}

static const char *const NPY_TYPES[ELEMENT_KINDS] = {
    [ELEMENT_F32] = "f4", [ELEMENT_F16] = "f2",  [ELEMENT_BF16] = "f4", [ELEMENT_F64] = "f8",
    [ELEMENT_I32] = "i4", [ELEMENT_I64] = "i8",  [ELEMENT_U8] = "u1",   [ELEMENT_BOOL] = "b1",
    [ELEMENT_I8] = "i1",  [ELEMENT_E4M3] = "f4", [ELEMENT_E5M2] = "f4"};

/* Of types that files have not; NULL for others. */
static float *widened(const void *values, size_t n, element_t element) {
    float *wide = NULL;
    if (element == ELEMENT_BF16 || element == ELEMENT_E4M3 || element == ELEMENT_E5M2)
        wide = mem_zeroed(n, sizeof *wide);
    for (size_t i = 0; wide != NULL && i < n; i++)
        wide[i] = (float)element_value(values, i, element);
    return wide;
}

bool described_writes(const session_t *session, const described_array_t *array) {
    return array->is_output && !(session->is_unfinished && array->is_input);
}

status_t described_data_write(const described_data_t *data, size_t i, const void *values,
                              const char *folder, error_t *err) {
    const described_shape_t *shape = &data->shapes[i];
    AUTO_FREE float *wide = widened(values, shape->n, shape->element);
    AUTO_FREE char *path = mem_format("%s/%s.npy", folder, shape->name);
    return npy_write(path, NPY_TYPES[shape->element], wide != NULL ? wide : values, shape->sizes,
                     shape->array->n_dimensions, err);
}
