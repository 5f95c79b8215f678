/* The memory of one case on a GPU, freed in one call. */
#ifndef BENCH_WORKLOADS_COMMON_GPU_MEMORY_H
#define BENCH_WORKLOADS_COMMON_GPU_MEMORY_H

#include "engine/gpu.h"
#include "workloads/common/session_parts.h"

/* Start with zeros. */
typedef struct gpu_memory {
    cu_pointer_t *device;
    void **pinned;
    size_t n_device, device_capacity, n_pinned, pinned_capacity;
} gpu_memory_t;

status_t gpu_memory_device(gpu_memory_t *memory, gpu_t *gpu, size_t bytes, cu_pointer_t *at,
                           error_t *err);
/* Pinned host memory, for asynchronous copies; `at` points at a pointer to any type. */
status_t gpu_memory_pinned(gpu_memory_t *memory, gpu_t *gpu, size_t bytes, void *at, error_t *err);
/* Also after a failure, when the driver may refuse every call: ignores its errors. */
void gpu_memory_free(gpu_memory_t *memory, gpu_t *gpu);
/* The same for a captured graph, or NULL. */
void gpu_graph_free(gpu_t *gpu, cu_graph_exec_t *graph);

/* Fill device memory by repeating a tile, on gpu->stream. */
status_t gpu_random_fill(gpu_t *gpu, cu_pointer_t at, size_t bytes, random_kind_t kind,
                         error_t *err);

/* A synchronous copy to the host. */
status_t gpu_copy_out(gpu_t *gpu, void *to, cu_pointer_t from, size_t bytes, error_t *err);

#endif
