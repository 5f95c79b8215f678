/* Launches on inputs that change from one to the next; the header says what for. */
#include "workloads/common/gpu_sample.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Launches of a graph: enough that the clock does not matter, and at most a quarter of those of
 * kernel_graph. */
enum { LAUNCHES_LEAST = 2, LAUNCHES_MOST = 16, PART_OF_BATCH = 4 };

/* Arrays are rotated by whole elements: 8 is a multiple of every element's size, and those of no more are rotated by one.
 * Larger ones by lines of the cache, so that all copies are equally fast. */
enum { STEP_BYTES = 8, LINE_BYTES = 128, LARGE_BYTES = 4096, ALIGNED_BYTES = 256 };

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

static bool is_changed(const gpu_array_t *array) {
    return array->role != ARRAY_BY_VALUE;
}

static size_t aligned(size_t bytes) {
    return (bytes + ALIGNED_BYTES - 1) / ALIGNED_BYTES * ALIGNED_BYTES;
}

/* A copy of all arrays, and the inputs and outputs of the middle. */
enum { REGION_COPY, REGION_MIDDLE, REGIONS };

static size_t region_bytes(const gpu_sample_t *s) {
    size_t bytes = 0;
    for (size_t i = 0; i < s->n_arrays; i++)
        bytes += is_changed(&s->arrays[i]) ? aligned(s->arrays[i].bytes) : 0;
    return bytes;
}

/* Where array `i` is in a region. */
static cu_pointer_t place_of(const gpu_sample_t *s, unsigned region, size_t i) {
    cu_pointer_t at = s->changing.copy + region * region_bytes(s);
    for (size_t k = 0; k < i; k++)
        at += is_changed(&s->arrays[k]) ? aligned(s->arrays[k].bytes) : 0;
    return at;
}

/* Another amount than the last one, if there is another. */
static size_t next_amount(const gpu_array_t *array, size_t last) {
    const bool is_tiny = array->bytes <= STEP_BYTES && array->element_bytes > 0;
    const size_t step = is_tiny                      ? array->element_bytes
                        : array->bytes < LARGE_BYTES ? STEP_BYTES
                                                     : LINE_BYTES;
    const size_t places = (array->bytes + step - 1) / step;
    return places > 1 ? (last / step + 1 + random_below((uint32_t)places - 1)) % places * step : 0;
}

/* Bytes of an array from `at` on, and where they stand in the copy. */
typedef struct part {
    const gpu_array_t *array;
    size_t at, bytes;
    cu_pointer_t copy;
} part_t;

static status_t copy_part(const gpu_sample_t *s, const part_t *part, bool back, error_t *err) {
    const gpu_array_t *array = part->array;
    const cu_pointer_t here = array->fixed + part->at;
    char *host = (char *)(array->from != NULL ? array->from : array->to);
    if (part->bytes == 0)
        return STATUS_OK;
    if (array_on_device(s, array))
        CUDA(copy_device_async(back ? here : part->copy, back ? part->copy : here, part->bytes,
                               s->gpu->stream));
    else if (back)
        CUDA(copy_out_async(host + part->at, part->copy, part->bytes, s->gpu->stream));
    else
        CUDA(copy_in_async(part->copy, host + part->at, part->bytes, s->gpu->stream));
    return STATUS_OK;
}

/* The two parts of array `i` rotated by `by`: that byte of its place in a region becomes the first. */
static void divide(const gpu_sample_t *s, size_t i, size_t by, unsigned region, part_t parts[2]) {
    const gpu_array_t *array = &s->arrays[i];
    const cu_pointer_t copy = place_of(s, region, i);
    const size_t rest = array->bytes - by;
    parts[0] = (part_t){array, 0, rest, copy + by};
    parts[1] = (part_t){array, rest, by, copy};
}

/* Copy the arrays; or `back`, each rotated by its amount. One way undoes the other. NULL: by nothing. */
static status_t copy_arrays(const gpu_sample_t *s, const size_t *amounts, bool back, error_t *err) {
    part_t parts[2];
    for (size_t i = 0; i < s->n_arrays; i++) {
        if (!is_changed(&s->arrays[i]))
            continue;
        divide(s, i, amounts != NULL ? amounts[i] : 0, REGION_COPY, parts);
        for (int k = 0; k < 2; k++)
            TRY(copy_part(s, &parts[k], back, err));
    }
    return STATUS_OK;
}

/* The inputs of the middle, after those of copy_arrays(); or its outputs. */
static status_t copy_middle(const gpu_sample_t *s, bool inputs, error_t *err) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        const gpu_array_t *array = &s->arrays[i];
        if (inputs ? array_varies(array) : array->role == ARRAY_OUTPUT)
            TRY(copy_part(s, &(part_t){array, 0, array->bytes, place_of(s, REGION_MIDDLE, i)},
                          inputs, err));
    }
    return STATUS_OK;
}

/* A launch that is captured with arrays by value rotated, too; or, without amounts, with those as opened. */
static status_t launch_with_values(gpu_sample_t *s, const size_t *amounts, error_t *err) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        gpu_array_t *array = &s->arrays[i];
        if (array->role != ARRAY_BY_VALUE)
            continue;
        const size_t by = amounts != NULL ? amounts[i] : 0, rest = array->bytes - by;
        if (array->before == NULL)
            array->before = mem_alloc(array->bytes);
        memcpy(array->before, array->from, array->bytes);
        memcpy(array->from, (char *)array->before + by, rest);
        memcpy((char *)array->from + rest, array->before, by);
        if (amounts == NULL)
            s->refill(s, i, array->from, 0);
    }
    const status_t status = s->launch(s, err);
    for (size_t i = 0; i < s->n_arrays; i++)
        if (s->arrays[i].role == ARRAY_BY_VALUE)
            memcpy(s->arrays[i].from, s->arrays[i].before, s->arrays[i].bytes);
    return status;
}

typedef enum way { WAY_CHANGED, WAY_SAME, WAY_CHECKED } way_t;

/* Before a launch that is timed: rotate the arrays; or leave them alone with as much work, after which the copy is what it
 * was. A write over the bus takes longer than a read, so what the host has is read and written both ways. */
static status_t change_or_not(const gpu_sample_t *s, const size_t *amounts, way_t way,
                              error_t *err) {
    part_t parts[2], read[2];
    for (size_t i = 0; i < s->n_arrays; i++) {
        if (!is_changed(&s->arrays[i]))
            continue;
        const bool on_device = array_on_device(s, &s->arrays[i]);
        divide(s, i, amounts[i], REGION_COPY, parts);
        divide(s, i, amounts[i], way == WAY_SAME ? REGION_COPY : REGION_MIDDLE, read);
        for (int k = 0; k < 2; k++) {
            if (!on_device || way == WAY_SAME)
                TRY(copy_part(s, &read[k], false, err));
            if (!on_device || way == WAY_CHANGED)
                TRY(copy_part(s, &parts[k], true, err));
        }
    }
    return STATUS_OK;
}

/* Copies and a launch, in turns. */
static status_t capture(gpu_sample_t *s, const size_t *amounts, way_t way, cu_graph_exec_t *graph,
                        error_t *err) {
    TRY(gpu_capture_begin(s->gpu, err));
    for (unsigned k = 0; k < s->changing.launches; k++) {
        const bool middle = way == WAY_CHECKED && k == (s->changing.launches - 1) / 2;
        TRY(way == WAY_CHECKED ? copy_arrays(s, &amounts[k * s->n_arrays], true, err)
                               : change_or_not(s, &amounts[k * s->n_arrays], way, err));
        if (middle) /* it is never the last */
            TRY(copy_middle(s, true, err));
        if (way == WAY_SAME)
            TRY(s->launch(s, err));
        else
            TRY(launch_with_values(s, middle ? NULL : &amounts[k * s->n_arrays], err));
        if (middle)
            TRY(copy_middle(s, false, err));
    }
    return gpu_capture_end(s->gpu, graph, err);
}

static status_t make_graphs(gpu_sample_t *s, error_t *err) {
    gpu_changing_t *changing = &s->changing;
    const unsigned part = s->batch_launches / PART_OF_BATCH;
    changing->launches = part < LAUNCHES_LEAST  ? LAUNCHES_LEAST
                         : part > LAUNCHES_MOST ? LAUNCHES_MOST
                                                : part;
    AUTO_FREE size_t *amounts = mem_zeroed(changing->launches * s->n_arrays, sizeof *amounts);
    for (size_t k = 0; k < changing->launches * s->n_arrays; k++)
        amounts[k] = next_amount(&s->arrays[k % s->n_arrays],
                                 k < s->n_arrays ? 0 : amounts[k - s->n_arrays]);
    gpu_sample_use_fixed(s);
    TRY(capture(s, amounts, WAY_CHANGED, &changing->changed, err));
    TRY(capture(s, amounts, WAY_SAME, &changing->same, err));
    TRY(capture(s, amounts, WAY_CHECKED, &changing->checked, err));
    TRY(gpu_graph_upload(s->gpu, changing->changed, err));
    return gpu_graph_upload(s->gpu, changing->same, err);
}

void gpu_changing_forget(gpu_sample_t *s) {
    gpu_graph_free(s->gpu, &s->changing.changed);
    gpu_graph_free(s->gpu, &s->changing.same);
    gpu_graph_free(s->gpu, &s->changing.checked);
}

static status_t set_middle_by_host(gpu_sample_t *s, size_t i, cu_pointer_t at, error_t *err) {
    const gpu_array_t *array = &s->arrays[i];
    AUTO_FREE void *values = mem_alloc(array->bytes);
    memcpy(values, array->from, array->bytes);
    s->refill(s, i, values, 0);
    TRY(cuda_check(&s->gpu->api,
                   s->gpu->api.copy_in_async(at, values, array->bytes, s->gpu->stream),
                   "copy_in_async", err));
    return gpu_sync(s->gpu, err);
}

/* The inputs as opened. */
static status_t set_middle(gpu_sample_t *s, error_t *err) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        const cu_pointer_t at = place_of(s, REGION_MIDDLE, i);
        bool done = false;
        if (!array_varies(&s->arrays[i]))
            continue;
        if (s->refill_there != NULL)
            TRY(s->refill_there(s, &(gpu_fill_t){i, at, 0, 0}, &done, err));
        if (!done)
            TRY(set_middle_by_host(s, i, at, err));
    }
    return STATUS_OK;
}

status_t gpu_changing_check(gpu_sample_t *s, error_t *err) {
    TRY(copy_arrays(s, NULL, false, err));
    TRY(set_middle(s, err));
    CUDA(graph_launch(s->changing.checked, s->gpu->stream));
    TRY(copy_arrays(s, NULL, true, err));
    TRY(gpu_sync(s->gpu, err));
    for (size_t i = 0; i < s->n_arrays; i++) {
        gpu_array_t *array = &s->arrays[i];
        if (array->role != ARRAY_OUTPUT)
            continue;
        if (array->middle == NULL)
            array->middle = mem_alloc(array->bytes);
        TRY(gpu_copy_out(s->gpu, array->middle, place_of(s, REGION_MIDDLE, i), array->bytes, err));
    }
    return STATUS_OK;
}

status_t gpu_changing_begin(gpu_sample_t *s, bool *possible, error_t *err) {
    cu_pointer_t copy;
    TRY(gpu_spare(s->gpu, REGIONS * region_bytes(s), &copy, err));
    *possible = copy != 0;
    if (!*possible)
        return STATUS_OK;
    if (copy != s->changing.copy || s->changing.changed == NULL) { /* another case needed more */
        gpu_changing_forget(s);
        s->changing.copy = copy;
        TRY(make_graphs(s, err));
    }
    return copy_arrays(s, NULL, false, err);
}

status_t gpu_changing_launch(gpu_sample_t *s, error_t *err) {
    TRY(gpu_record(s->gpu, 4, err));
    CUDA(graph_launch(s->changing.changed, s->gpu->stream));
    TRY(gpu_record(s->gpu, 2, err));
    CUDA(graph_launch(s->changing.same, s->gpu->stream));
    TRY(gpu_record(s->gpu, 3, err));
    return copy_arrays(s, NULL, true, err);
}

status_t gpu_changing_time(gpu_sample_t *s, double *more_ns, error_t *err) {
    double changed_ns, same_ns;
    TRY(gpu_elapsed(s->gpu, 4, 2, &changed_ns, err));
    TRY(gpu_elapsed(s->gpu, 2, 3, &same_ns, err));
    const double more = (changed_ns - same_ns) / s->changing.launches;
    *more_ns = more > 0 ? more : 0;
    return STATUS_OK;
}

void gpu_changing_free(gpu_sample_t *s) {
    gpu_changing_forget(s);
    gpu_spare_free(s->gpu);
}
