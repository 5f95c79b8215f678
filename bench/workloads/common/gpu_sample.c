/* A case from its opening to its end, and a sample from host memory to host memory. */
#include "workloads/common/gpu_sample.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

enum { POLL_MOST_NS = 1000000000 };

/* ---- techniques ------------------------------------------------------------------------------ */

static bool is_text(const char *chosen, const char *choice) {
    return chosen != NULL && strcmp(chosen, choice) == 0;
}

static bool is(const case_t *spec, const char *technique, const char *choice) {
    return is_text(case_technique(spec, technique), choice);
}

void gpu_sample_techniques(gpu_sample_t *s, const case_t *spec) {
    const char *alloc = case_allocator(spec);
    s->alloc = is_text(alloc, "arena")     ? ALLOC_ARENA
               : is_text(alloc, "async")   ? ALLOC_ASYNC
               : is_text(alloc, "caching") ? ALLOC_CACHING
                                           : ALLOC_MALLOC;
    s->copy = is(spec, "copy", "pinned")       ? COPY_PINNED
              : is(spec, "copy", "mapped")     ? COPY_MAPPED
              : is(spec, "copy", "overlapped") ? COPY_OVERLAPPED
                                               : COPY_PAGEABLE;
    s->upload = !is(spec, "weights", "resident");
    s->poll = is(spec, "wait", "poll");
}

/* A graph replays the addresses of its capture: memory from a cache, which keeps it, is as good as allocated once. */
void gpu_sample_launch(gpu_sample_t *s, const case_t *spec, bool as_graph) {
    s->graph = as_graph || is(spec, "launch", "graph");
    if (s->graph && s->alloc == ALLOC_CACHING)
        s->alloc = ALLOC_ARENA;
}

status_t gpu_sample_applies(const gpu_sample_t *s, double need_bytes, error_t *err) {
    /* Twice: the fixed buffers and those of a sample. */
    TRY(gpu_room(s->gpu, s->copy == COPY_MAPPED ? 0 : 2 * need_bytes, err));
    if (s->graph && s->alloc != ALLOC_ARENA)
        return error_set(
            err, STATUS_FAILED,
            "launch=graph replays fixed addresses: needs memory from arena or caching");
    if (s->graph && s->copy == COPY_PAGEABLE)
        return error_set(err, STATUS_FAILED,
                         "launch=graph copies without a call: needs copy=pinned, mapped or "
                         "overlapped");
    if (s->poll && s->copy != COPY_MAPPED)
        return error_set(err, STATUS_FAILED,
                         "wait=poll watches the output in host memory: needs copy=mapped");
    if (s->copy == COPY_MAPPED && gpu_sample_has(s, ARRAY_IN_PLACE))
        return error_set(err, STATUS_FAILED,
                         "copy=mapped would change the input itself, which is computed in place");
    if (s->alloc == ALLOC_ASYNC && !gpu_has_pool(s->gpu))
        return error_set(err, STATUS_FAILED, "this driver has no cuMemAllocAsync");
    return STATUS_OK;
}

/* ---- host memory ----------------------------------------------------------------------------- */

/* With memory of its own on the host; else it has the workload's, which other cases may share. */
static bool is_pinned(const gpu_sample_t *s, const gpu_array_t *array) {
    return s->copy != COPY_PAGEABLE && array->role != ARRAY_BY_VALUE;
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
    if (s->differs != 0)
        s->gpu->api.release(s->differs);
    s->differs = 0;
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

static uint64_t calls_of_driver(const gpu_sample_t *s) {
    return s->alloc == ALLOC_CACHING ? allocator_stats(s->allocator).driver_calls : s->driver_calls;
}

/* Of a training whose steps take memory: in its first run, and in a later one. */
static void note_driver_calls(session_t *session, uint64_t later) {
    const gpu_sample_t *s = session->state;
    if (!gpu_sample_has(s, ARRAY_TEMPORARY) || s->steps == 0)
        return;
    session_add_result(session, "epochs",
                       json_pack("[{s:I}, {s:I}]", "driver_calls",
                                 (json_int_t)s->first_driver_calls, "driver_calls",
                                 (json_int_t)later));
}

status_t gpu_sample_prepare(session_t *session, error_t *err) {
    gpu_sample_t *s = session->state;
    if (s->alloc == ALLOC_ASYNC)
        TRY(gpu_pool_keep(s->gpu, err));
    if (s->alloc == ALLOC_CACHING)
        TRY(allocator_open(ALLOCATOR_CACHING, &s->gpu->api, s->gpu->device, &s->allocator, err));
    TRY(make_host_side(s, err));
    TRY(gpu_sample_allocate(s, true, err));
    TRY(gpu_sample_copy_weights(s, true, err));
    TRY(gpu_sync(s->gpu, err));
    TRY(gpu_sample_copy_inputs(s, true, err));
    TRY(gpu_sync(s->gpu, err));
    const uint64_t calls = calls_of_driver(s);
    const int64_t start_ns = clock_ns();
    TRY(gpu_sample_run(s, err));
    session_add_once(session, "first_run", (double)(clock_ns() - start_ns));
    s->first_driver_calls = calls_of_driver(s) - calls;
    return STATUS_OK;
}

/* ---- outputs ---------------------------------------------------------------------------------- */

status_t gpu_sample_output(session_t *session, error_t *err) {
    gpu_sample_t *s = session->state;
    TRY(gpu_sample_host_inputs(s, err));
    for (size_t i = 0; i < s->n_arrays && session->continues; i++)
        if (s->arrays[i].role == ARRAY_IN_PLACE)
            memcpy(s->arrays[i].from, s->arrays[i].to, s->arrays[i].bytes);
    if (!session->is_unfinished) {
        TRY(gpu_sample_fill(session, err));
        s->fill_outputs = s->alloc != ALLOC_ARENA; /* then not filled yet */
    }
    const uint64_t calls = calls_of_driver(s);
    const status_t status = gpu_sample_run(s, err);
    s->fill_outputs = false;
    TRY(status);
    note_driver_calls(session, calls_of_driver(s) - calls);
    return session->is_unfinished ? STATUS_OK : gpu_sample_find_changed(session, err);
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

/* ---- a sample -------------------------------------------------------------------------------- */

static void fill_with_nans(gpu_sample_t *s) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        gpu_array_t *array = &s->arrays[i];
        array->n_complete = 0;
        if (array->to != NULL)
            array->nans =
                random_fill(array->to, array->bytes,
                            array->random == RANDOM_F16 ? RANDOM_NAN_F16 : RANDOM_NAN_F32);
    }
}

enum { BLOCK = 64 }; /* elements that are compared at once, in vectors */
_Static_assert(RANDOM_TILE % BLOCK == 0, "a block is in one tile");

/* Does one of `n` elements from number `first` equal the NaN that was written there? */
static inline bool has_nan(const gpu_array_t *array, size_t first, size_t n) {
    const size_t in_tile = first % RANDOM_TILE;
    unsigned found = 0;
    __asm__ volatile("" : : : "memory"); /* the device has written since */
    if (array->random == RANDOM_F16) {
        const uint16_t *y = (const uint16_t *)array->to + first;
        const uint16_t *nans = (const uint16_t *)array->nans + in_tile;
        for (size_t i = 0; i < n; i++)
            found |= y[i] == nans[i];
    } else {
        const uint32_t *y = (const uint32_t *)array->to + first;
        const uint32_t *nans = (const uint32_t *)array->nans + in_tile;
        for (size_t i = 0; i < n; i++)
            found |= y[i] == nans[i];
    }
    return found != 0;
}

/* From where the last call found a NaN: what was complete stays so. */
static bool array_complete(gpu_array_t *array) {
    const size_t each = array->random == RANDOM_F16 ? sizeof(uint16_t) : sizeof(uint32_t);
    const size_t n = array->bytes / each;
    for (size_t *i = &array->n_complete; *i < n; *i += BLOCK)
        if (n - *i < BLOCK ? has_nan(array, *i, n - *i) : has_nan(array, *i, BLOCK))
            return false;
    return true;
}

static bool outputs_complete(gpu_sample_t *s) {
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
        TRY(gpu_sample_fill_device(s, false, err));
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
