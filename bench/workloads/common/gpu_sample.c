/* A case from its opening to its end, and a sample from host memory to host memory. */
#include "workloads/common/gpu_sample.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/fs.h"

#include <stdlib.h>
#include <string.h>

/* ==== launches on inputs that change ========================================================== */

/* Launches of a graph: enough that the clock does not matter, and at most a quarter of those of
 * kernel_graph. */
enum { LAUNCHES_LEAST = 2, LAUNCHES_MOST = 16, PART_OF_BATCH = 4 };

/* Arrays are rotated by whole elements: 8 is a multiple of every element's size. Larger ones by lines
 * of the cache, so that all copies are equally fast. */
enum { STEP_BYTES = 8, LINE_BYTES = 128, LARGE_BYTES = 4096, ALIGNED_BYTES = 256 };

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

static bool is_changed_gpu_changing(const gpu_sample_t *s, const gpu_array_t *array) {
    return array->role != ARRAY_BY_VALUE && (array->role != ARRAY_WEIGHT || s->refills_weights);
}

static size_t aligned(size_t bytes) {
    return (bytes + ALIGNED_BYTES - 1) / ALIGNED_BYTES * ALIGNED_BYTES;
}

/* A copy of all arrays, and the inputs and outputs of the middle. */
enum { REGION_COPY, REGION_MIDDLE, REGIONS };

static size_t region_bytes(const gpu_sample_t *s) {
    size_t bytes = 0;
    for (size_t i = 0; i < s->n_arrays; i++)
        bytes += is_changed_gpu_changing(s, &s->arrays[i]) ? aligned(s->arrays[i].bytes) : 0;
    return bytes;
}

/* Where array `i` is in a region. */
static cu_pointer_t place_of(const gpu_sample_t *s, unsigned region, size_t i) {
    cu_pointer_t at = s->changing.copy + region * region_bytes(s);
    for (size_t k = 0; k < i; k++)
        at += is_changed_gpu_changing(s, &s->arrays[k]) ? aligned(s->arrays[k].bytes) : 0;
    return at;
}

/* Another amount than the last one, if there is another. */
static size_t next_amount(const gpu_array_t *array, size_t last) {
    const size_t step = array->bytes < LARGE_BYTES ? STEP_BYTES : LINE_BYTES;
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

/* Copy the arrays; or `back`, each rotated by its amount: that byte becomes the first. One way undoes
 * the other. NULL: by nothing. */
static status_t copy_arrays(const gpu_sample_t *s, const size_t *amounts, bool back, error_t *err) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        const gpu_array_t *array = &s->arrays[i];
        if (!is_changed_gpu_changing(s, array))
            continue;
        const cu_pointer_t copy = place_of(s, REGION_COPY, i);
        const size_t by = amounts != NULL ? amounts[i] : 0, rest = array->bytes - by;
        TRY(copy_part(s, &(part_t){array, 0, rest, copy + by}, back, err));
        TRY(copy_part(s, &(part_t){array, rest, by, copy}, back, err));
    }
    return STATUS_OK;
}

/* The inputs of the middle, after those of copy_arrays(); or its outputs. */
static status_t copy_middle(const gpu_sample_t *s, bool inputs, error_t *err) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        const gpu_array_t *array = &s->arrays[i];
        if (inputs ? array_varies(s, array) : array->role == ARRAY_OUTPUT)
            TRY(copy_part(s, &(part_t){array, 0, array->bytes, place_of(s, REGION_MIDDLE, i)},
                          inputs, err));
    }
    return STATUS_OK;
}

/* A launch that is captured with arrays by value rotated, too; or, without amounts, with those as opened. */
static status_t launch_with_values(gpu_sample_t *s, const size_t *amounts, error_t *err) {
    const uint64_t opened[] = {s->fixed_seed, 0};
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
            s->refill(s, i, array->from, opened);
    }
    const status_t status = s->launch(s, err);
    for (size_t i = 0; i < s->n_arrays; i++)
        if (s->arrays[i].role == ARRAY_BY_VALUE)
            memcpy(s->arrays[i].from, s->arrays[i].before, s->arrays[i].bytes);
    return status;
}

typedef enum way { WAY_CHANGED, WAY_SAME, WAY_CHECKED } way_t;

/* Copies and a launch, in turns. `back` changes the arrays; the other way is as much work and leaves
 * them alone, and the copy of the inputs is in the end what it was. */
static status_t capture(gpu_sample_t *s, const size_t *amounts, way_t way, cu_graph_exec_t *graph,
                        error_t *err) {
    TRY(gpu_capture_begin(s->gpu, err));
    for (unsigned k = 0; k < s->changing.launches; k++) {
        const bool middle = way == WAY_CHECKED && k == (s->changing.launches - 1) / 2;
        TRY(copy_arrays(s, &amounts[k * s->n_arrays], way != WAY_SAME, err));
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
    size_t *amounts = mem_zeroed(changing->launches * s->n_arrays, sizeof *amounts);
    for (size_t k = 0; k < changing->launches * s->n_arrays; k++)
        amounts[k] = next_amount(&s->arrays[k % s->n_arrays],
                                 k < s->n_arrays ? 0 : amounts[k - s->n_arrays]);
    gpu_sample_use_fixed(s);
    status_t status = capture(s, amounts, WAY_CHANGED, &changing->changed, err);
    if (status == STATUS_OK)
        status = capture(s, amounts, WAY_SAME, &changing->same, err);
    if (status == STATUS_OK)
        status = capture(s, amounts, WAY_CHECKED, &changing->checked, err);
    free(amounts);
    if (status == STATUS_OK)
        status = gpu_graph_upload(s->gpu, changing->changed, err);
    return status == STATUS_OK ? gpu_graph_upload(s->gpu, changing->same, err) : status;
}

static void free_graphs(gpu_sample_t *s) {
    gpu_graph_free(s->gpu, &s->changing.changed);
    gpu_graph_free(s->gpu, &s->changing.same);
    gpu_graph_free(s->gpu, &s->changing.checked);
}

static status_t set_middle_by_host(gpu_sample_t *s, size_t i, cu_pointer_t at, error_t *err) {
    const gpu_array_t *array = &s->arrays[i];
    void *values = mem_alloc(array->bytes);
    memcpy(values, array->from, array->bytes);
    s->refill(s, i, values, (const uint64_t[]){s->from_seed, 0});
    status_t status = cuda_check(
        &s->gpu->api, s->gpu->api.copy_in_async(at, values, array->bytes, s->gpu->stream),
        "copy_in_async", err);
    if (status == STATUS_OK)
        status = gpu_sync(s->gpu, err);
    free(values);
    return status;
}

/* The inputs as opened. */
static status_t set_middle(gpu_sample_t *s, error_t *err) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        const cu_pointer_t at = place_of(s, REGION_MIDDLE, i);
        bool done = false;
        if (!array_varies(s, &s->arrays[i]))
            continue;
        if (s->refill_there != NULL)
            TRY(s->refill_there(s, i, at, 0, &done, err));
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
        free_graphs(s);
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

static void gpu_changing_free(gpu_sample_t *s) {
    free_graphs(s);
    gpu_spare_free(s->gpu);
}

/* ==== a sample ================================================================================ */

enum { POLL_MOST_NS = 1000000000 };

/* ---- techniques ------------------------------------------------------------------------------ */

static bool is(const case_t *spec, const char *technique, const char *choice) {
    const char *chosen = case_technique(spec, technique);
    return chosen != NULL && strcmp(chosen, choice) == 0;
}

void gpu_sample_techniques(gpu_sample_t *s, const case_t *spec) {
    s->alloc = is(spec, "alloc", "arena")     ? ALLOC_ARENA
               : is(spec, "alloc", "async")   ? ALLOC_ASYNC
               : is(spec, "alloc", "caching") ? ALLOC_CACHING
                                              : ALLOC_MALLOC;
    s->copy = is(spec, "copy", "pinned")       ? COPY_PINNED
              : is(spec, "copy", "mapped")     ? COPY_MAPPED
              : is(spec, "copy", "overlapped") ? COPY_OVERLAPPED
                                               : COPY_PAGEABLE;
    s->upload = !is(spec, "weights", "resident");
    s->poll = is(spec, "wait", "poll");
}

status_t gpu_sample_applies(const gpu_sample_t *s, const case_t *spec, double need_bytes,
                            error_t *err) {
    const bool graph = s->graph || is(spec, "launch", "graph");
    /* Twice: the fixed buffers and those of a sample. */
    TRY(gpu_room(s->gpu, s->copy == COPY_MAPPED ? 0 : 2 * need_bytes, err));
    if (graph && s->alloc != ALLOC_ARENA)
        return error_set(err, STATUS_FAILED,
                         "launch=graph replays fixed addresses: needs alloc=arena");
    if (graph && s->copy == COPY_PAGEABLE)
        return error_set(err, STATUS_FAILED,
                         "launch=graph copies without a call: needs copy=pinned, mapped or "
                         "overlapped");
    if (s->poll && s->copy != COPY_MAPPED)
        return error_set(err, STATUS_FAILED,
                         "wait=poll watches the output in host memory: needs copy=mapped");
    if (s->copy == COPY_MAPPED && gpu_sample_in_place(s))
        return error_set(err, STATUS_FAILED,
                         "copy=mapped would change the input itself, which is computed in place");
    if (s->alloc == ALLOC_ASYNC && !gpu_has_pool(s->gpu))
        return error_set(err, STATUS_FAILED, "this driver has no cuMemAllocAsync");
    return STATUS_OK;
}

/* ---- host memory ----------------------------------------------------------------------------- */

/* With memory of its own on the host; else it has the workload's, which other cases may share. */
static bool is_pinned(const gpu_sample_t *s, const gpu_array_t *array) {
    return s->copy != COPY_PAGEABLE && array->role != ARRAY_BY_VALUE &&
           (array->role != ARRAY_WEIGHT || s->refills_weights);
}

static status_t take_host(gpu_sample_t *s, const gpu_array_t *array, void **memory, error_t *err) {
    unsigned flags = CU_HOST_ALLOC_PORTABLE;
    if (s->copy == COPY_MAPPED)
        flags |= CU_HOST_ALLOC_DEVICEMAP;
    if (is_pinned(s, array))
        CUDA(host_alloc(memory, array->bytes, flags));
    else
        *memory = mem_alloc(array->bytes);
    return STATUS_OK;
}

static status_t make_host_side(gpu_sample_t *s, error_t *err) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        gpu_array_t *array = &s->arrays[i];
        if (array_is_scratch(array))
            continue;
        if (array->data != NULL && is_pinned(s, array))
            TRY(take_host(s, array, &array->from, err));
        else
            array->from = array->data;
        if (array_is_output(array)) {
            array->last = mem_alloc(array->bytes);
            TRY(take_host(s, array, &array->to, err));
        }
    }
    for (size_t i = 0; i < s->n_arrays; i++) {
        gpu_array_t *array = &s->arrays[i];
        if (array->from != array->data)
            memcpy(array->from, array->data, array->bytes);
        if (array->to != NULL)
            random_fill(array->to, array->bytes,
                        array->random); /* touch every page before timing */
    }
    return STATUS_OK;
}

static void free_host(gpu_sample_t *s, gpu_array_t *array, void *memory) {
    if (memory == NULL || memory == array->data)
        return;
    if (is_pinned(s, array))
        s->gpu->api.host_free(memory);
    else
        free(memory);
}

static void free_device(gpu_sample_t *s, gpu_array_t *array) {
    const bool mapped = !array_on_device(s, array);
    const bool own = array->current != 0 && array->current != array->fixed;
    if (!mapped && own && s->alloc != ALLOC_CACHING) /* which returns all of it when it is closed */
        s->gpu->api.release(array->current - array->shift);
    if (!mapped && array->fixed != 0)
        s->gpu->api.release(array->fixed - array->shift);
    array->current = array->fixed = 0;
}

void gpu_sample_free(gpu_sample_t *s) {
    gpu_graph_free(s->gpu, &s->batch);
    gpu_graph_free(s->gpu, &s->whole);
    gpu_changing_free(s);
    for (size_t i = 0; i < s->n_arrays; i++)
        free_device(s, &s->arrays[i]);
    if (s->alloc == ALLOC_ASYNC)
        gpu_pool_trim(s->gpu);
    allocator_close(s->allocator);
    s->allocator = NULL;
    for (size_t i = 0; i < s->n_arrays; i++) {
        gpu_array_t *array = &s->arrays[i];
        free(array->last);
        free(array->middle);
        free(array->before);
        free_host(s, array, array->from);
        free_host(s, array, array->to);
        array->last = array->middle = array->before = array->from = array->to = NULL;
    }
}

status_t gpu_sample_prepare(session_t *session, error_t *err) {
    gpu_sample_t *s = session->state;
    if (s->alloc == ALLOC_ASYNC)
        TRY(gpu_pool_keep(s->gpu, err));
    const allocator_options_t options = {.device = s->gpu->device, .untimed = true};
    if (s->alloc == ALLOC_CACHING)
        TRY(allocator_open(ALLOCATOR_CACHING, &s->gpu->api, &options, &s->allocator, err));
    TRY(make_host_side(s, err));
    TRY(gpu_sample_allocate(s, true, err));
    TRY(gpu_sample_copy_weights(s, true, err));
    TRY(gpu_sync(s->gpu, err));
    TRY(gpu_sample_copy_inputs(s, true, err));
    TRY(gpu_sync(s->gpu, err));
    const int64_t start_ns = clock_ns();
    TRY(gpu_sample_run(s, err));
    session_add_once(session, "first_run", (double)(clock_ns() - start_ns));
    return STATUS_OK;
}

/* ---- refill and fill ------------------------------------------------------------------------- */

/* On the device: array_varies(), or in place. */
static bool is_refilled(const gpu_sample_t *s, const gpu_array_t *array) {
    return array_is_input(array) || array_varies(s, array);
}

/* The end of a refill: arrays by value, and the graphs that hold them. */
static status_t refill_values(gpu_sample_t *s, uint64_t seed, error_t *err) {
    const uint64_t seeds[] = {s->fixed_seed, seed};
    bool any = false;
    s->fixed_seed = seed;
    for (size_t i = 0; i < s->n_arrays; i++)
        if (s->arrays[i].role == ARRAY_BY_VALUE) {
            s->refill(s, i, s->arrays[i].from, seeds);
            any = true;
        }
    if (!any || seeds[0] == seed)
        return STATUS_OK;
    free_graphs(s);
    return s->recapture != NULL ? s->recapture(s, err) : STATUS_OK;
}

/* The device fills its memory, and the host gets a copy. */
static status_t refill_input(gpu_sample_t *s, size_t i, uint64_t seed, error_t *err) {
    const gpu_array_t *array = &s->arrays[i];
    bool possible;
    TRY(s->refill_there(s, i, array->fixed, seed, &possible, err));
    if (!possible)
        s->refill(s, i, array->from, (const uint64_t[]){s->from_seed, seed});
    if (!array_on_device(s, array))
        return STATUS_OK; /* both have the same memory */
    if (possible)
        CUDA(copy_out_async(array->from, array->fixed, array->bytes, s->gpu->stream));
    else
        CUDA(copy_in_async(array->fixed, array->from, array->bytes, s->gpu->stream));
    return STATUS_OK;
}

static status_t refill_on_device(gpu_sample_t *s, uint64_t seed, error_t *err) {
    uint64_t *from_seed = s->copy == COPY_PAGEABLE ? s->data_seed : &s->from_seed;
    if (*from_seed == seed && s->fixed_seed == seed)
        return STATUS_OK;
    for (size_t i = 0; i < s->n_arrays; i++)
        if (is_refilled(s, &s->arrays[i]))
            TRY(refill_input(s, i, seed, err));
    TRY(gpu_sync(s->gpu, err));
    *from_seed = seed;
    return refill_values(s, seed, err);
}

status_t gpu_sample_refill(session_t *session, uint64_t seed, error_t *err) {
    gpu_sample_t *s = session->state;
    if (s->refill_there != NULL)
        return refill_on_device(s, seed, err);
    if (s->copy == COPY_PAGEABLE)
        s->refill_data(s, seed);
    for (size_t i = 0; i < s->n_arrays && s->copy != COPY_PAGEABLE && s->from_seed != seed; i++)
        if (is_refilled(s, &s->arrays[i]))
            s->refill(s, i, s->arrays[i].from, (const uint64_t[]){s->from_seed, seed});
    s->from_seed = seed;
    if (s->fixed_seed == seed || (s->copy == COPY_MAPPED && !s->refills_weights))
        return STATUS_OK;
    TRY(gpu_sample_copy_inputs(s, true, err));
    if (s->refills_weights)
        TRY(gpu_sample_copy_weights(s, true, err));
    TRY(gpu_sync(s->gpu, err));
    return refill_values(s, seed, err);
}

/* Device memory that a run writes before it reads it. */
static status_t fill_device(gpu_sample_t *s, bool fixed, error_t *err) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        const gpu_array_t *array = &s->arrays[i];
        const bool output = array->role == ARRAY_OUTPUT && s->copy != COPY_MAPPED;
        const cu_pointer_t at = fixed ? array->fixed : array->current;
        if (at != 0 && (output || array_is_scratch(array)))
            TRY(gpu_random_fill(s->gpu, at, array->bytes, array->random, err));
    }
    return STATUS_OK;
}

/* A copy of inputs that a kernel could write to. */
static void watch_mapped(gpu_sample_t *s) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        gpu_array_t *array = &s->arrays[i];
        if (array->role != ARRAY_INPUT || array_on_device(s, array))
            continue;
        if (array->before == NULL)
            array->before = mem_alloc(array->bytes);
        memcpy(array->before, array->from, array->bytes);
    }
}

status_t gpu_sample_fill(session_t *session, error_t *err) {
    gpu_sample_t *s = session->state;
    for (size_t i = 0; i < s->n_arrays; i++)
        if (s->arrays[i].to != NULL)
            random_fill(s->arrays[i].to, s->arrays[i].bytes, s->arrays[i].random);
    watch_mapped(s);
    TRY(fill_device(s, true, err));
    return gpu_sync(s->gpu, err);
}

status_t gpu_sample_output(session_t *session, error_t *err) {
    gpu_sample_t *s = session->state;
    TRY(gpu_sample_fill(session, err));
    s->fill_outputs = s->alloc != ALLOC_ARENA; /* then not filled yet */
    const status_t status = gpu_sample_run(s, err);
    s->fill_outputs = false;
    TRY(status);
    return gpu_sample_find_changed(session, err);
}

void gpu_sample_keep(gpu_sample_t *s) {
    for (size_t i = 0; i < s->n_arrays; i++)
        if (s->arrays[i].last != NULL)
            memcpy(s->arrays[i].last, s->arrays[i].to, s->arrays[i].bytes);
}

status_t gpu_sample_keep_fixed(gpu_sample_t *s, error_t *err) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        const gpu_array_t *array = &s->arrays[i];
        if (array->last != NULL && array_on_device(s, array))
            TRY(gpu_copy_out(s->gpu, array->last, array->fixed, array->bytes, err));
        else if (array->last != NULL)
            memcpy(array->last, array->to, array->bytes);
    }
    return STATUS_OK;
}

status_t gpu_sample_write_middle(session_t *session, gpu_write_t *write, const char *folder,
                                 error_t *err) {
    text_list_t names = {0};
    if (!session->has_middle)
        return STATUS_OK;
    char *middle = mem_format("%s/middle", folder);
    status_t status = fs_make_folders(middle, err);
    if (status == STATUS_OK)
        status = write(session, middle, &names, err);
    text_list_free(&names);
    free(middle);
    return status;
}

/* Is it in the memory of an input, on the host, what it is on the device? A kernel can write to mapped
 * memory: of that a copy was made. */
static status_t is_changed(const gpu_sample_t *s, const gpu_array_t *array, bool *changed,
                           error_t *err) {
    *changed = false;
    if (!array_on_device(s, array)) {
        *changed = array->before != NULL && memcmp(array->before, array->from, array->bytes) != 0;
        return STATUS_OK;
    }
    void *found = mem_alloc(array->bytes);
    const status_t status = gpu_copy_out(s->gpu, found, array->fixed, array->bytes, err);
    *changed = status == STATUS_OK && memcmp(found, array->from, array->bytes) != 0;
    free(found);
    return status;
}

status_t gpu_sample_find_changed(session_t *session, error_t *err) {
    const gpu_sample_t *s = session->state;
    for (size_t i = 0; i < s->n_arrays && session->changed == NULL; i++) {
        const gpu_array_t *array = &s->arrays[i];
        const bool is_input = array->role == ARRAY_WEIGHT || array_varies(s, array);
        bool changed;
        if (!is_input || array->name == NULL)
            continue;
        TRY(is_changed(s, array, &changed, err));
        if (changed)
            session->changed = array->name;
    }
    return STATUS_OK;
}

/* ---- a sample -------------------------------------------------------------------------------- */

static void fill_with_nans(gpu_sample_t *s) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        gpu_array_t *array = &s->arrays[i];
        if (array->to != NULL)
            array->nans =
                random_fill(array->to, array->bytes,
                            array->random == RANDOM_F16 ? RANDOM_NAN_F16 : RANDOM_NAN_F32);
    }
}

/* Does every element differ from the NaN that was written there? */
static bool array_complete(const gpu_array_t *array) {
    if (array->random == RANDOM_F16) {
        const volatile uint16_t *y = array->to;
        const uint16_t *nans = array->nans;
        for (size_t i = 0; i < array->bytes / sizeof *y; i++)
            if (y[i] == nans[i % RANDOM_TILE])
                return false;
    } else {
        const volatile uint32_t *y = array->to;
        const uint32_t *nans = array->nans;
        for (size_t i = 0; i < array->bytes / sizeof *y; i++)
            if (y[i] == nans[i % RANDOM_TILE])
                return false;
    }
    return true;
}

static bool outputs_complete(const gpu_sample_t *s) {
    bool complete = true;
    for (size_t i = 0; i < s->n_arrays && complete; i++)
        complete = s->arrays[i].to == NULL || array_complete(&s->arrays[i]);
    return complete;
}

/* Checks every element, so the device may write them in any order. */
static status_t wait_for_outputs(gpu_sample_t *s, error_t *err) {
    if (!s->poll)
        return gpu_sync(s->gpu, err);
    const int64_t start_ns = clock_ns();
    for (unsigned turn = 1; !outputs_complete(s); turn++)
        if (turn % 1024 == 0 && clock_ns() - start_ns > POLL_MOST_NS) {
            TRY(gpu_sync(s->gpu, err)); /* reports the cause, if the device knows it */
            return outputs_complete(s) ? STATUS_OK
                                       : error_set(err, STATUS_FAILED,
                                                   "the kernel ended without writing every output");
        }
    return STATUS_OK;
}

status_t gpu_sample_submit(gpu_sample_t *s, error_t *err) {
    if (s->fill_outputs)
        TRY(fill_device(s, false, err));
    if (s->copy == COPY_OVERLAPPED)
        return gpu_overlap_submit(s, err);
    TRY(gpu_sample_copy_in(s, err));
    TRY(s->launch(s, err));
    return gpu_sample_copy_out(s, err);
}

status_t gpu_sample_run(gpu_sample_t *s, error_t *err) {
    if (s->poll)
        fill_with_nans(s);
    if (s->whole != NULL) {
        CUDA(graph_launch(s->whole, s->gpu->stream));
        return wait_for_outputs(s, err);
    }
    TRY(gpu_sample_allocate(s, false, err));
    TRY(gpu_sample_submit(s, err));
    TRY(wait_for_outputs(s, err));
    return gpu_sample_release(s, err);
}
