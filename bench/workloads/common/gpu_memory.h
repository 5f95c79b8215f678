/* Memory of one case on a GPU, given back as a whole. */
#ifndef BENCH_WORKLOADS_COMMON_GPU_MEMORY_H
#define BENCH_WORKLOADS_COMMON_GPU_MEMORY_H

#include "engine/gpu.h"

/* Start with zeros. */
typedef struct gpu_memory {
    cu_pointer_t *device;
    void **pinned;
    size_t n_device, device_capacity, n_pinned, pinned_capacity;
} gpu_memory_t;

status_t gpu_memory_device(gpu_memory_t *memory, gpu_t *gpu, size_t bytes, cu_pointer_t *at,
                           error_t *err);
/* Of the host, where copies run by themselves; `at` points at a pointer to any type. */
status_t gpu_memory_pinned(gpu_memory_t *memory, gpu_t *gpu, size_t bytes, void *at, error_t *err);
/* Also after a failure, when the driver may refuse everything: its answers do not matter here. */
void gpu_memory_free(gpu_memory_t *memory, gpu_t *gpu);

/* The same for a captured graph; NULL is none. */
void gpu_graph_free(gpu_t *gpu, cu_graph_exec_t *graph);

#endif
