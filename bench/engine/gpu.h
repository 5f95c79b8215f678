/* One CUDA device as sessions use it: context, stream, two events, memory, kernels. Every function
 * reports what the driver said, with the call's name. */
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
} gpu_t;

/* Open device number `index` and describe it in `facts` (see engine_t.start). */
status_t gpu_open(int index, gpu_t *gpu, environment_t *facts, error_t *err);
void gpu_close(gpu_t *gpu);

status_t gpu_alloc(gpu_t *gpu, size_t bytes, cu_pointer_t *pointer, error_t *err);
status_t gpu_free(gpu_t *gpu, cu_pointer_t pointer, error_t *err);
status_t gpu_sync(gpu_t *gpu, error_t *err);
status_t gpu_fill(gpu_t *gpu, cu_pointer_t pointer, unsigned char value, size_t bytes,
                  error_t *err);
/* Memory of cuMemAllocAsync comes from the device's pool. By itself the pool gives everything back
 * to the system at each synchronisation and asks for it again; a program that allocates again and
 * again lets it keep what is freed. */
bool gpu_has_pool(const gpu_t *gpu); /* drivers before 11.2 have none */
status_t gpu_pool_keep(gpu_t *gpu, error_t *err);
/* Give back what nobody uses, for others on the device. Errors do not matter here. */
void gpu_pool_trim(gpu_t *gpu);
/* Put other data into the L2: overwrites a buffer of twice its size (allocated on the first call).
 */
status_t gpu_flush_l2(gpu_t *gpu, error_t *err);
status_t gpu_record(gpu_t *gpu, unsigned event, error_t *err);
/* Nanoseconds from event `from` to event `to`; both must have completed. */
status_t gpu_elapsed(gpu_t *gpu, unsigned from, unsigned to, double *ns, error_t *err);
/* Is there room for `bytes` more on the device? Otherwise fails with both numbers. */
status_t gpu_room(gpu_t *gpu, double bytes, error_t *err);

/* Warps of `blocks` blocks over those that a multiprocessor holds. */
double gpu_occupancy(const gpu_t *gpu, int blocks, unsigned threads);

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
/* Launch over `items` (grid by the kernel's own geometry). */
status_t gpu_kernel_launch(gpu_t *gpu, const gpu_kernel_t *kernel, size_t items, void **arguments,
                           error_t *err);

/* A captured sequence of work: begin, launch things on gpu->stream, end, then launch the graph. */
status_t gpu_capture_begin(gpu_t *gpu, error_t *err);
status_t gpu_capture_end(gpu_t *gpu, cu_graph_exec_t *graph, error_t *err);

#endif
