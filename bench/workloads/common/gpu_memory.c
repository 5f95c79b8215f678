#include "workloads/common/gpu_sample.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ==== memory of a case ======================================================================== */

status_t gpu_memory_device(gpu_memory_t *memory, gpu_t *gpu, size_t bytes, cu_pointer_t *at,
                           error_t *err) {
    TRY(gpu_alloc(gpu, bytes, at, err));
    mem_grow(&memory->device, memory->n_device, &memory->device_capacity, sizeof *memory->device);
    memory->device[memory->n_device++] = *at;
    return STATUS_OK;
}

status_t gpu_memory_pinned(gpu_memory_t *memory, gpu_t *gpu, size_t bytes, void *at, error_t *err) {
    void *block;
    TRY(cuda_check(&gpu->api, gpu->api.host_alloc(&block, bytes, CU_HOST_ALLOC_PORTABLE),
                   "host_alloc", err));
    mem_grow(&memory->pinned, memory->n_pinned, &memory->pinned_capacity, sizeof *memory->pinned);
    memory->pinned[memory->n_pinned++] = block;
    memcpy(at, &block, sizeof block); /* an assignment would break aliasing rules */
    return STATUS_OK;
}

void gpu_memory_free(gpu_memory_t *memory, gpu_t *gpu) {
    for (size_t i = 0; i < memory->n_device; i++)
        gpu->api.release(memory->device[i]);
    for (size_t i = 0; i < memory->n_pinned; i++)
        gpu->api.host_free(memory->pinned[i]);
    free(memory->device);
    free(memory->pinned);
    *memory = (gpu_memory_t){0};
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

status_t gpu_random_fill(gpu_t *gpu, cu_pointer_t at, size_t bytes, random_kind_t kind,
                         error_t *err) {
    const cuda_api_t *api = &gpu->api;
    size_t done = smaller(bytes, random_tile_bytes(kind));
    TRY(cuda_check(api, api->copy_in_async(at, random_tile(kind), done, gpu->stream),
                   "copy_in_async", err));
    for (size_t n; done < bytes; done += n) {
        n = smaller(done, bytes - done);
        TRY(cuda_check(api, api->copy_device_async(at + done, at, n, gpu->stream),
                       "copy_device_async", err));
    }
    return STATUS_OK;
}

status_t gpu_copy_out(gpu_t *gpu, void *to, cu_pointer_t from, size_t bytes, error_t *err) {
    return cuda_check(&gpu->api, gpu->api.copy_out(to, from, bytes), "copy_out", err);
}

void gpu_graph_free(gpu_t *gpu, cu_graph_exec_t *graph) {
    if (*graph != NULL)
        gpu->api.graph_exec_destroy(*graph);
    *graph = NULL;
}

/* ==== steps of a sample ======================================================================= */

/* Device memory of a sample, and its copies one by one. */

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

bool array_is_input(const gpu_array_t *array) {
    return array->role == ARRAY_INPUT || array->role == ARRAY_IN_PLACE;
}

bool array_is_output(const gpu_array_t *array) {
    return array->role == ARRAY_OUTPUT || array->role == ARRAY_IN_PLACE;
}

bool array_is_scratch(const gpu_array_t *array) {
    return array->role == ARRAY_WORKSPACE || array->role == ARRAY_TEMPORARY;
}

static bool is_kept(const gpu_array_t *array) {
    return array->role == ARRAY_WEIGHT || array->role == ARRAY_RESIDENT;
}

bool array_on_device(const gpu_sample_t *s, const gpu_array_t *array) {
    return s->copy != COPY_MAPPED || is_kept(array) || array_is_scratch(array);
}

bool array_varies(const gpu_array_t *array) {
    return array->role == ARRAY_INPUT || array->role == ARRAY_RESIDENT ||
           array->role == ARRAY_WEIGHT;
}

bool array_each_sample(const gpu_sample_t *s, const gpu_array_t *array) {
    return array->role != ARRAY_BY_VALUE && array->role != ARRAY_RESIDENT &&
           array->role != ARRAY_TEMPORARY && (s->upload || array->role != ARRAY_WEIGHT);
}

bool gpu_sample_has(const gpu_sample_t *s, array_role_t role) {
    bool any = false;
    for (size_t i = 0; i < s->n_arrays; i++)
        any |= s->arrays[i].role == role;
    return any;
}

bool gpu_sample_allocates(const gpu_sample_t *s) {
    bool any = false;
    for (size_t i = 0; i < s->n_arrays; i++)
        any |= array_on_device(s, &s->arrays[i]) && array_each_sample(s, &s->arrays[i]);
    return any && s->alloc != ALLOC_ARENA;
}

static bool is_copied_in(const gpu_sample_t *s, const gpu_array_t *array) {
    return array->role == ARRAY_WEIGHT ? s->upload
                                       : s->copy != COPY_MAPPED && array_is_input(array);
}

bool gpu_sample_copies_in(const gpu_sample_t *s) {
    bool any = false;
    for (size_t i = 0; i < s->n_arrays; i++)
        any |= is_copied_in(s, &s->arrays[i]);
    return any;
}

bool gpu_sample_copies_out(const gpu_sample_t *s) {
    return s->copy != COPY_MAPPED;
}

void gpu_sample_use_fixed(gpu_sample_t *s) {
    for (size_t i = 0; i < s->n_arrays; i++)
        s->arrays[i].current = s->arrays[i].fixed;
}

status_t gpu_sample_take(gpu_sample_t *s, size_t bytes, cu_pointer_t *at, error_t *err) {
    if (s->alloc == ALLOC_CACHING)
        return allocator_allocate(s->allocator, bytes, s->gpu->stream, at, err);
    s->driver_calls++;
    if (s->alloc == ALLOC_ASYNC)
        CUDA(alloc_async(at, bytes, s->gpu->stream));
    else
        CUDA(alloc(at, bytes));
    return STATUS_OK;
}

status_t gpu_sample_give_back(gpu_sample_t *s, cu_pointer_t at, error_t *err) {
    if (s->alloc == ALLOC_CACHING)
        return allocator_free(s->allocator, at, s->gpu->stream, err);
    s->driver_calls++;
    if (s->alloc == ALLOC_ASYNC)
        CUDA(release_async(at, s->gpu->stream));
    else
        CUDA(release(at));
    return STATUS_OK;
}

static status_t take(gpu_sample_t *s, const gpu_array_t *array, bool fixed, cu_pointer_t *pointer,
                     error_t *err) {
    const size_t bytes = array->bytes + array->shift;
    void *mapped = array->from != NULL ? array->from : array->to;
    if (!array_on_device(s, array)) {
        CUDA(host_device_pointer(pointer, mapped, 0));
        return STATUS_OK;
    }
    if (fixed)
        CUDA(alloc(pointer, bytes));
    else
        TRY(gpu_sample_take(s, bytes, pointer, err));
    *pointer += array->shift;
    return STATUS_OK;
}

/* A sample allocates what it does not take from `fixed`. */
status_t gpu_sample_allocate(gpu_sample_t *s, bool fixed, error_t *err) {
    if (!fixed)
        gpu_sample_use_fixed(s);
    for (size_t i = 0; i < s->n_arrays && (fixed || s->alloc != ALLOC_ARENA); i++) {
        gpu_array_t *array = &s->arrays[i];
        if (fixed ? array->role != ARRAY_BY_VALUE : array_each_sample(s, array))
            TRY(take(s, array, fixed, fixed ? &array->fixed : &array->current, err));
        else if (array->role == ARRAY_TEMPORARY)
            array->current = 0;
    }
    return STATUS_OK;
}

status_t gpu_sample_release(gpu_sample_t *s, error_t *err) {
    for (size_t i = 0; i < s->n_arrays && s->alloc != ALLOC_ARENA; i++) {
        gpu_array_t *array = &s->arrays[i];
        if (!array_on_device(s, array) || !array_each_sample(s, array))
            continue;
        TRY(gpu_sample_give_back(s, array->current - array->shift, err));
        array->current = 0;
    }
    return STATUS_OK;
}

static status_t copy_to(gpu_sample_t *s, const gpu_array_t *array, bool fixed, error_t *err) {
    CUDA(copy_in_async(fixed ? array->fixed : array->current, array->from, array->bytes,
                       s->gpu->stream));
    return STATUS_OK;
}

status_t gpu_sample_copy_weights(gpu_sample_t *s, bool fixed, error_t *err) {
    for (size_t i = 0; i < s->n_arrays; i++)
        if (fixed ? is_kept(&s->arrays[i]) : s->arrays[i].role == ARRAY_WEIGHT)
            TRY(copy_to(s, &s->arrays[i], fixed, err));
    return STATUS_OK;
}

/* Does the host still have what the device had before a refill? No run has changed that there. */
static bool is_behind(const gpu_sample_t *s, const gpu_array_t *array) {
    return s->refill_there != NULL && s->copy != COPY_PAGEABLE && array->from_seed != s->fixed_seed;
}

status_t gpu_sample_copy_inputs(gpu_sample_t *s, bool fixed, error_t *err) {
    for (size_t i = 0; i < s->n_arrays && s->copy != COPY_MAPPED; i++)
        if (array_is_input(&s->arrays[i]) && !(fixed && is_behind(s, &s->arrays[i])))
            TRY(copy_to(s, &s->arrays[i], fixed, err));
    return STATUS_OK;
}

status_t gpu_sample_copy_in(gpu_sample_t *s, error_t *err) {
    TRY(gpu_sample_copy_inputs(s, false, err));
    return s->upload ? gpu_sample_copy_weights(s, false, err) : STATUS_OK;
}

status_t gpu_sample_copy_out(gpu_sample_t *s, error_t *err) {
    for (size_t i = 0; i < s->n_arrays && s->copy != COPY_MAPPED; i++) {
        const gpu_array_t *array = &s->arrays[i];
        if (array_is_output(array))
            CUDA(copy_out_async(array->to, array->current, array->bytes, s->gpu->stream));
    }
    return STATUS_OK;
}
