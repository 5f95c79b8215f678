#include "workloads/common/gpu_memory.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

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
