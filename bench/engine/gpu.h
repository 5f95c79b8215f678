/* A CUDA device for sessions: context, stream, events, memory, kernels. Errors contain the driver's
 * message and the name of the call. */
#ifndef BENCH_ENGINE_GPU_H
#define BENCH_ENGINE_GPU_H

#include "base/error.h"
#include "cuda/driver.h"
#include "engine/launch.h"
#include "model/environment.h"

#include <stdbool.h>
#include <stddef.h>

enum { GPU_EVENTS = 6 };

typedef struct gpu {
    cuda_api_t api;
    cu_device_t device;
    cu_context_t context;
    cu_stream_t stream;
    cu_event_t events[GPU_EVENTS];
    int arch; /* 90 for sm_90 */
    int multiprocessors;
    size_t l2_bytes, memory_bytes;
    cu_pointer_t flush; /* see gpu_flush_l2() */
    cu_pointer_t spare; /* see gpu_spare() */
    size_t spare_bytes;
} gpu_t;

/* Open device number `index` and describe it in `facts` (see engine_t.start). */
status_t gpu_open(int index, gpu_t *gpu, environment_t *facts, error_t *err);
void gpu_close(gpu_t *gpu);

status_t gpu_alloc(gpu_t *gpu, size_t bytes, cu_pointer_t *pointer, error_t *err);
status_t gpu_sync(gpu_t *gpu, error_t *err);
status_t gpu_fill(gpu_t *gpu, cu_pointer_t pointer, unsigned char value, size_t bytes,
                  error_t *err);
/* The pool of cuMemAllocAsync. By default it returns free memory to the system at each
 * synchronisation; gpu_pool_keep() makes it keep the memory for later allocations. */
bool gpu_has_pool(const gpu_t *gpu); /* false before CUDA 11.2 */
status_t gpu_pool_keep(gpu_t *gpu, error_t *err);
/* Return unused memory of the pool to the system. Ignores errors. */
void gpu_pool_trim(gpu_t *gpu);
/* Evict the L2: overwrite a buffer of twice its size (allocated on the first call). */
status_t gpu_flush_l2(gpu_t *gpu, error_t *err);
/* Memory that open cases use in turns, of at least `bytes`. Others may need what is free: 0 if that is
 * less than four times as much. Until it is freed it moves only if one needs more. */
status_t gpu_spare(gpu_t *gpu, size_t bytes, cu_pointer_t *pointer, error_t *err);
/* Ignores errors. */
void gpu_spare_free(gpu_t *gpu);
status_t gpu_record(gpu_t *gpu, unsigned event, error_t *err);
/* Nanoseconds from event `from` to event `to`; both must have completed. */
status_t gpu_elapsed(gpu_t *gpu, unsigned from, unsigned to, double *ns, error_t *err);
/* Fail if the device has less than `bytes` of free memory. */
status_t gpu_room(gpu_t *gpu, double bytes, error_t *err);

/* Allow the kernel's dynamic shared memory and get its occupancy: active warps / maximum warps. */
status_t gpu_prepare_function(gpu_t *gpu, cu_function_t function, unsigned threads,
                              unsigned dynamic_shared, double *occupancy_frac, error_t *err);

typedef struct gpu_kernel {
    cu_module_t module;
    cu_function_t function;
    launch_t launch;
    double occupancy_frac;
    double load_ns; /* reading the cubin and loading the module */
} gpu_kernel_t;

/* Load `entry` and its launch geometry from a cubin. */
status_t gpu_kernel_load(gpu_t *gpu, const char *cubin, const char *entry, gpu_kernel_t *kernel,
                         error_t *err);
void gpu_kernel_unload(gpu_t *gpu, gpu_kernel_t *kernel);
/* Launch over `items`; the kernel's geometry sets the grid. */
status_t gpu_kernel_launch(gpu_t *gpu, const gpu_kernel_t *kernel, size_t items, void **arguments,
                           error_t *err);

/* Capture work on gpu->stream between begin and end into a graph. */
status_t gpu_capture_begin(gpu_t *gpu, error_t *err);
status_t gpu_capture_end(gpu_t *gpu, cu_graph_exec_t *graph, error_t *err);
/* What its first launch would do, if the driver can (CUDA 11.1). */
status_t gpu_graph_upload(gpu_t *gpu, cu_graph_exec_t graph, error_t *err);

#endif
