#include "workloads/operator/data.h"

#include "base/half.h"
#include "base/memory.h"
#include "io/npy.h"
#include "workloads/common/session_parts.h"

#include <stdlib.h>
#include <string.h>

static bool same(const void *data, const void *shape) {
    const operator_data_t *a = data, *b = shape;
    return a->description == b->description && a->seed == b->seed && strcmp(a->key, b->key) == 0;
}

static void *make(const void *shape) {
    operator_data_t *data = mem_zeroed(1, sizeof *data);
    *data = *(const operator_data_t *)shape;
    data->key = mem_text(data->key);
    for (size_t i = 0; i < data->description->n_arrays; i++) {
        const operator_shape_t *size = &data->shapes[i];
        if (!data->description->arrays[i].is_input)
            continue;
        data->values[i] = mem_alloc(size->bytes);
        fill_array(data->values[i], size->n, size->element, &size->fill, data->seed, (uint32_t)i);
    }
    return data;
}

static void free_data(void *dead) {
    operator_data_t *data = dead;
    for (size_t i = 0; i < data->description->n_arrays; i++)
        free(data->values[i]);
    free(data->key);
    free(data);
}

void operator_data_fill(const operator_data_t *data, size_t i, void *values, uint64_t refill) {
    const operator_shape_t *size = &data->shapes[i];
    fill_again(values, size->n, size->element, &size->fill, fill_key(data->seed, refill),
               (uint32_t)i);
}

static void refill(void *refilled, uint64_t from, uint64_t to) {
    const operator_data_t *data = refilled;
    (void)from; /* nothing of it is left */
    for (size_t i = 0; i < data->description->n_arrays; i++)
        if (data->values[i] != NULL)
            operator_data_fill(data, i, data->values[i], to);
}

static shared_pool_t open_data = {.same = same, .make = make, .free = free_data, .refill = refill};

const operator_data_t *operator_data_take(const operator_description_t *description,
                                          const case_t *spec, uint64_t seed) {
    operator_data_t shape = {.description = description, .seed = seed};
    text_list_t parts = {0};
    error_t impossible = ERROR_INIT; /* the case has passed workload_check() */
    text_list_add(&parts, spec->dtype);
    for (size_t i = 0; i < description->params.n; i++)
        text_list_add_format(&parts, "%lld",
                             (long long)case_param_int(spec, description->params.items[i], 0));
    for (size_t i = 0; i < description->n_arrays; i++)
        description_shape(description, i, spec, &shape.shapes[i], &impossible);
    shape.key = text_list_join(&parts, " ");
    const operator_data_t *data = shared_data_take(&open_data, &shape);
    free(shape.key);
    text_list_free(&parts);
    return data;
}

void operator_data_refill(const operator_data_t *data, uint64_t seed) {
    shared_data_refill(&open_data, data, seed);
}

void operator_data_release(const operator_data_t *data) {
    shared_data_release(&open_data, data);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static const char *const NPY_TYPES[ELEMENT_KINDS] = {
    [ELEMENT_F32] = "f4", [ELEMENT_F16] = "f2", [ELEMENT_BF16] = "f4", [ELEMENT_F64] = "f8",
    [ELEMENT_I32] = "i4", [ELEMENT_I64] = "i8", [ELEMENT_U8] = "u1",   [ELEMENT_BOOL] = "b1"};

static float *widened(const uint16_t *values, size_t n) {
    float *wide = mem_zeroed(n, sizeof *wide);
    for (size_t i = 0; i < n; i++)
        wide[i] = bfloat16_to_float(values[i]);
    return wide;
}

status_t operator_data_write(const operator_data_t *data, size_t i, const void *values,
                             const char *folder, error_t *err) {
    const operator_shape_t *shape = &data->shapes[i];
    const operator_array_t *array = &data->description->arrays[i];
    float *wide = shape->element == ELEMENT_BF16 ? widened(values, shape->n) : NULL;
    char *path = mem_format("%s/%s.npy", folder, array->name);
    const status_t status = npy_write(path, NPY_TYPES[shape->element], wide != NULL ? wide : values,
                                      shape->sizes, array->n_dimensions, err);
    free(path);
    free(wide);
    return status;
}
