#include "workloads/described/tensor_maps.h"

#include "base/memory.h"
#include "engine/launch.h"
#include "workloads/described/launches.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* CUDA Driver API, cuTensorMapEncodeTiled(). Tiles are not interleaved. */
enum { MOST_BOX = 256, MOST_STEP = 8, ARCH = 90, NO_SWIZZLE = 0, SWIZZLES = 4, PROMOTIONS = 4 };
static const int64_t MOST_SIZE = 1LL << 32, MOST_STRIDE_BYTES = (1LL << 40) - 1;

status_t tensor_maps_within(const tensor_maps_t *maps, size_t which, error_t *err) {
    return error_within(err, "TENSOR_MAPS[%zu] (%s)", which, maps->items[which].array);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* How many texts of so many bytes are given. Those behind a gap count, too, so that it is found. */
static unsigned given(const char *texts, size_t each, unsigned most) {
    unsigned n = most;
    while (n > 0 && texts[(n - 1) * each] == '\0')
        n--;
    return n;
}

#define GIVEN(texts) given((texts)[0], sizeof(texts)[0], sizeof(texts) / sizeof(texts)[0])

static bool all_end(const char *texts, size_t each, size_t n) {
    bool good = true;
    for (size_t i = 0; i < n; i++)
        good = good && table_text_ends(texts + i * each, each);
    return good;
}

#define ALL_END(texts) all_end((texts)[0], sizeof(texts)[0], sizeof(texts) / sizeof(texts)[0])

static bool is_complete(const described_tensor_map_t *map) {
    return table_text_ends(map->array, sizeof map->array) && ALL_END(map->sizes) &&
           ALL_END(map->box) && ALL_END(map->strides) && ALL_END(map->steps);
}

status_t tensor_maps_take(const void *table, size_t bytes, tensor_maps_t *maps, error_t *err) {
    const size_t each = sizeof *maps->items;
    *maps = (tensor_maps_t){.n = bytes / each};
    if (bytes % each != 0 || maps->n > MOST_TENSOR_MAPS)
        return error_set(err, STATUS_FAILED,
                         "its TENSOR_MAPS take %zu bytes; expected 1 to %d maps of %zu bytes",
                         bytes, MOST_TENSOR_MAPS, each);
    memcpy(maps->items, table, bytes);
    for (size_t i = 0; i < maps->n; i++)
        if (!is_complete(&maps->items[i]))
            return error_set(err, STATUS_FAILED, "its TENSOR_MAPS[%zu] has a text without an end",
                             i);
    return STATUS_OK;
}

status_t tensor_maps_read(const cubin_t *cubin, tensor_maps_t *maps, error_t *err) {
    const size_t bytes = cubin_object_size(cubin, "tensor_maps");
    AUTO_FREE char *table = mem_zeroed(bytes + 1, 1);
    if (bytes > 0)
        TRY(cubin_object(cubin, "tensor_maps", table, bytes, err));
    return tensor_maps_take(table, bytes, maps, err);
}

/* ---- what no size can change ------------------------------------------------------------------ */

static status_t find_array(const described_tensor_map_t *map, const description_t *d, size_t *array,
                           error_t *err) {
    AUTO(text_list_free) text_list_t names = {0};
    for (*array = 0; *array < d->n_arrays; ++*array) {
        if (d->arrays[*array].repeat != NULL)
            continue;
        if (strcmp(d->arrays[*array].name, map->array) == 0)
            return STATUS_OK;
        text_list_add(&names, d->arrays[*array].name);
    }
    AUTO_FREE char *known = text_list_join(&names, ", ");
    return error_set(err, STATUS_FAILED, "array: found \"%s\", expected one of %s", map->array,
                     known);
}

static status_t check_counts(const described_tensor_map_t *map, error_t *err) {
    const unsigned rank = GIVEN(map->sizes), box = GIVEN(map->box);
    if (rank == 0)
        return error_set(err, STATUS_FAILED, "sizes: found none, expected 1 to %d",
                         TENSOR_MAP_RANK);
    for (unsigned i = 0; i < rank; i++)
        if (map->sizes[i][0] == '\0')
            return error_set(err, STATUS_FAILED, "sizes[%u]: found \"\", expected a size", i);
    if (box != rank)
        return error_set(err, STATUS_FAILED, "box: found %u numbers, expected %u, as of sizes", box,
                         rank);
    if (GIVEN(map->strides) >= rank)
        return error_set(err, STATUS_FAILED,
                         "strides: found %u, expected at most %u: the first dimension has none",
                         GIVEN(map->strides), rank - 1);
    if (GIVEN(map->steps) > rank)
        return error_set(err, STATUS_FAILED, "steps: found %u, expected at most %u, as of sizes",
                         GIVEN(map->steps), rank);
    if (map->swizzle >= SWIZZLES)
        return error_set(err, STATUS_FAILED,
                         "swizzle: found %u, expected SWIZZLE_NONE, _32, _64 or _128",
                         map->swizzle);
    if (map->l2 >= PROMOTIONS)
        return error_set(err, STATUS_FAILED, "l2: found %u, expected L2_NONE, _64, _128 or _256",
                         map->l2);
    return STATUS_OK;
}

/* ---- sizes ------------------------------------------------------------------------------------ */

/* A key of a map, such as sizes, in its dimension `i`. */
typedef struct field {
    const char *key;
    unsigned i;
    const char *text;
} field_t;

static status_t field_value(const field_t *field, const described_values_t *values, int64_t most,
                            int64_t *value, error_t *err) {
    status_t status = table_text_value(field->text, &values->scope, 1, value, err);
    if (status == STATUS_OK && (*value < 1 || *value > most))
        status = error_set(err, STATUS_FAILED, "\"%s\" is %" PRId64 ", expected 1 to %" PRId64,
                           field->text, *value, most);
    return status == STATUS_OK ? status : error_within(err, "%s[%u]", field->key, field->i);
}

/* Box and steps of dimension `i`. */
static status_t evaluate_box(const described_tensor_map_t *map, unsigned i,
                             const described_values_t *values, tensor_map_size_t *size,
                             error_t *err) {
    int64_t box, step;
    TRY(field_value(&(field_t){"box", i, map->box[i]}, values, MOST_BOX, &box, err));
    TRY(field_value(&(field_t){"steps", i, map->steps[i]}, values, i == 0 ? 1 : MOST_STEP, &step,
                    err));
    size->box[i] = (uint32_t)box;
    size->steps[i] = (uint32_t)step;
    return STATUS_OK;
}

/* In bytes; what is left out is that of a dense array. */
static status_t evaluate_stride(const described_tensor_map_t *map, unsigned i,
                                const described_values_t *values, tensor_map_size_t *size,
                                error_t *err) {
    const char *text = map->strides[i - 1];
    int64_t elements, bytes, each = (int64_t)element_bytes(size->element);
    TRY(field_value(&(field_t){"strides", i - 1, text}, values, MOST_STRIDE_BYTES, &elements, err));
    const bool dense = text[0] == '\0';
    if (dense) { /* from one row of the dimension before to its next, for all of them */
        elements = (int64_t)size->sizes[i - 1];
        each = i == 1 ? each : (int64_t)size->strides[i - 2];
    }
    if (__builtin_mul_overflow(elements, each, &bytes))
        bytes = INT64_MAX;
    if (bytes > MOST_STRIDE_BYTES || bytes % TENSOR_MAP_ALIGNMENT != 0)
        return error_set(err, STATUS_FAILED,
                         "strides[%u]: found %" PRId64
                         " bytes (%s), expected a multiple of %d, less than 2^40",
                         i - 1, bytes, dense ? "dense" : text, TENSOR_MAP_ALIGNMENT);
    size->strides[i - 1] = (uint64_t)bytes;
    return STATUS_OK;
}

/* ---- what the box needs ----------------------------------------------------------------------- */

static status_t check_row(const described_tensor_map_t *map, const tensor_map_size_t *size,
                          error_t *err) {
    const size_t row = size->box[0] * element_bytes(size->element), span = 16u << size->swizzle;
    if (row % TENSOR_MAP_ALIGNMENT != 0)
        return error_set(err, STATUS_FAILED,
                         "box[0]: found \"%s\", %zu bytes, expected a multiple of %d bytes",
                         map->box[0], row, TENSOR_MAP_ALIGNMENT);
    if (size->swizzle != NO_SWIZZLE && row > span)
        return error_set(err, STATUS_FAILED,
                         "box[0]: found \"%s\", %zu bytes, expected at most %zu: the span of "
                         "SWIZZLE_%zu",
                         map->box[0], row, span, span);
    return STATUS_OK;
}

static status_t check_box(const tensor_map_size_t *size, error_t *err) {
    size_t bytes = element_bytes(size->element);
    for (unsigned i = 0; i < size->rank; i++)
        bytes *= (size->box[i] + size->steps[i] - 1) / size->steps[i];
    return bytes <= launch_shared_limit(ARCH)
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "box: found %zu bytes, expected at most %u", bytes,
                           launch_shared_limit(ARCH));
}

/* Nothing of the map may lie behind its array. */
static status_t check_extent(const tensor_map_size_t *size, const described_shape_t *shape,
                             error_t *err) {
    uint64_t last = (size->sizes[0] - 1) * element_bytes(size->element);
    bool fits = true;
    for (unsigned i = 1; i < size->rank; i++) {
        uint64_t more;
        fits = fits && !__builtin_mul_overflow(size->sizes[i] - 1, size->strides[i - 1], &more) &&
               !__builtin_add_overflow(last, more, &last);
    }
    return fits && last < shape->bytes
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "sizes: the last element is %s%" PRIu64
                           " bytes from the first, expected one of the array's %zu bytes",
                           fits ? "" : "over ", last, shape->bytes);
}

static status_t evaluate(const described_tensor_map_t *map, const described_values_t *values,
                         const described_shape_t *shape, tensor_map_size_t *size, error_t *err) {
    for (unsigned i = 0; i < size->rank; i++) {
        int64_t n;
        TRY(field_value(&(field_t){"sizes", i, map->sizes[i]}, values, MOST_SIZE, &n, err));
        size->sizes[i] = (uint64_t)n;
        if (i > 0)
            TRY(evaluate_stride(map, i, values, size, err));
        TRY(evaluate_box(map, i, values, size, err));
    }
    TRY(check_row(map, size, err));
    TRY(check_box(size, err));
    return check_extent(size, shape, err);
}

static status_t size_of(const described_tensor_map_t *map, const description_t *d,
                        const case_t *spec, int sm_count, tensor_map_size_t *size, error_t *err) {
    described_values_t values;
    described_shape_t shapes[DESCRIBED_SHAPES];
    size_t array, n;
    description_values(d, spec, sm_count, &values);
    *size = (tensor_map_size_t){.rank = GIVEN(map->sizes), .swizzle = map->swizzle, .l2 = map->l2};
    TRY(find_array(map, d, &array, err));
    TRY(check_counts(map, err));
    TRY(description_arrays(d, spec, shapes, &n, err));
    while (shapes[size->array].array != &d->arrays[array])
        size->array++;
    size->element = shapes[size->array].element;
    return evaluate(map, &values, &shapes[size->array], size, err);
}

status_t tensor_maps_size(const tensor_maps_t *maps, const description_t *description,
                          const case_t *spec, int sm_count,
                          tensor_map_size_t sizes[MOST_TENSOR_MAPS], error_t *err) {
    for (size_t i = 0; i < maps->n; i++)
        if (size_of(&maps->items[i], description, spec, sm_count, &sizes[i], err) != STATUS_OK)
            return tensor_maps_within(maps, i, err);
    return STATUS_OK;
}

/* ---- of a rung on a GPU ----------------------------------------------------------------------- */

status_t tensor_maps_offered(const tensor_maps_t *maps, const gpu_t *gpu, error_t *err) {
    if (maps->n == 0)
        return STATUS_OK;
    if (gpu->arch < ARCH)
        return error_set(err, STATUS_FAILED, "TENSOR_MAPS need sm_%d; this is sm_%d", ARCH,
                         gpu->arch);
    return gpu->api.tensor_map_encode != NULL
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "this driver has no cuTensorMapEncodeTiled (CUDA 12.0), which "
                           "TENSOR_MAPS need");
}

status_t tensor_maps_of_memory(const tensor_maps_t *maps, const tensor_map_size_t *sizes,
                               const described_shape_t *shapes, error_t *err) {
    for (size_t i = 0; i < maps->n; i++)
        if (shapes[sizes[i].array].array->is_weight) {
            error_set(err, STATUS_FAILED,
                      "expected no weight, which common/by_value.cuh passes by value");
            return tensor_maps_within(maps, i, err);
        }
    return STATUS_OK;
}

/* ---- at compile time -------------------------------------------------------------------------- */

static status_t check_field(const field_t *field, const scope_t *scope, int64_t most,
                            error_t *err) {
    static const described_values_t NO_VALUES;
    int64_t value;
    if (table_text_check(field->text, scope, err) != STATUS_OK)
        return error_within(err, "%s[%u]", field->key, field->i);
    return table_text_is_constant(field->text) ? field_value(field, &NO_VALUES, most, &value, err)
                                               : STATUS_OK;
}

static status_t check_map(const described_tensor_map_t *map, const description_t *d,
                          const scope_t *scope, error_t *err) {
    size_t array;
    TRY(find_array(map, d, &array, err));
    TRY(check_counts(map, err));
    for (unsigned i = 0; i < TENSOR_MAP_RANK; i++) {
        TRY(check_field(&(field_t){"sizes", i, map->sizes[i]}, scope, MOST_SIZE, err));
        TRY(check_field(&(field_t){"box", i, map->box[i]}, scope, MOST_BOX, err));
        TRY(check_field(&(field_t){"steps", i, map->steps[i]}, scope, i == 0 ? 1 : MOST_STEP, err));
        if (i < TENSOR_MAP_RANK - 1)
            TRY(check_field(&(field_t){"strides", i, map->strides[i]}, scope, MOST_STRIDE_BYTES,
                            err));
    }
    return STATUS_OK;
}

status_t tensor_maps_check(const description_t *description, const cubin_t *cubin, error_t *err) {
    tensor_maps_t maps;
    const char *names[DESCRIBED_VALUES];
    const scope_t scope = table_text_scope(description, names);
    TRY(tensor_maps_read(cubin, &maps, err));
    for (size_t i = 0; i < maps.n; i++)
        if (check_map(&maps.items[i], description, &scope, err) != STATUS_OK)
            return tensor_maps_within(&maps, i, err);
    return STATUS_OK;
}
