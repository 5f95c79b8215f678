/* mlp_train on a GPU. Opening a case copies images, start weights and parameters to the device; an
 * epoch is order → steps → validation, submitted by the loop in loop.c or replayed from its graphs.
 * The cubin of a rung lists its kernels and their geometry (stages and plan in
 * kernels/common/launch.cuh). */
#ifndef BENCH_WORKLOADS_MLP_TRAIN_CUDA_H
#define BENCH_WORKLOADS_MLP_TRAIN_CUDA_H

#include "engine/gpu.h"
#include "engine/session.h"
#include "engine/trace.h"
#include "workloads/mlp_train/operators.h"
#include "workloads/mnist/oracle.h"

enum { MLPT_GRAPH_STEPS = 512 }; /* maximum per graph: an epoch replays it */

/* Captured steps of an epoch. */
typedef struct mlpt_graph {
    cu_graph_exec_t exec; /* NULL: none */
    size_t steps;
} mlpt_graph_t;

typedef struct mlpt_cuda {
    gpu_t *gpu;
    gpu_program_t program;
    const gpu_stage_t *stages[MLPT_OPERATORS]; /* NULL if the rung lacks it */
    mlpt_shape_t shape;
    const mnist_data_t *data;
    allocator_kind_t kind;
    allocator_t *allocator; /* for operator results */
    mlpt_loop_t loop;
    gpu_memory_t memory;            /* everything else, allocated while the case is open */
    size_t parameter_bytes;         /* all weights and biases, each at a multiple of 256 */
    cu_pointer_t parameters, start; /* current weights; start weights */
    uint64_t seed;                  /* of the signs of `start` */
    cu_pointer_t order, losses;     /* of one epoch */
    cu_pointer_t sums;              /* of a validation */
    /* plan.graph: one graph of whole batches, replayed, and one of the remaining steps. The first
     * reads image numbers from `window_order` and writes losses to `window_losses`; copies before
     * and after each replay move them. */
    mlpt_graph_t whole, rest;
    size_t replays;
    cu_pointer_t window_order, window_losses;
    uint32_t *host_order; /* these three are pinned */
    float *host_losses, *host_sums;
    mnist_fit_t fit;
} mlpt_cuda_t;

/* ---- cuda_epoch.c: these submit work without waiting ----------------------------------------- */

/* Find the rung's kernels and set up the loop. */
status_t mlpt_cuda_connect(mlpt_cuda_t *s, error_t *err);
status_t mlpt_cuda_restore(mlpt_cuda_t *s, error_t *err); /* the start weights */
/* Write the order of epoch number `epoch` to pinned memory; upload it. */
void mlpt_cuda_shuffle(mlpt_cuda_t *s, uint32_t epoch);
status_t mlpt_cuda_upload_order(mlpt_cuda_t *s, error_t *err);
/* The first `steps` steps of the epoch (with graphs: all), in the uploaded order; copies the losses
 * to the host. */
status_t mlpt_cuda_epoch(mlpt_cuda_t *s, size_t steps, error_t *err);
/* Copies the sums to the host. */
status_t mlpt_cuda_validate(mlpt_cuda_t *s, error_t *err);
/* One step of the uploaded order, without a graph. */
status_t mlpt_cuda_first_step(mlpt_cuda_t *s, error_t *err);
status_t mlpt_cuda_last_step(mlpt_cuda_t *s, error_t *err);

/* Capture the epoch's steps if the plan asks for it. All kinds of passes and both batch sizes must
 * have run before, so that the allocator does not call the driver. */
status_t mlpt_cuda_capture(mlpt_cuda_t *s, error_t *err);
void mlpt_cuda_drop_graphs(mlpt_cuda_t *s);

/* ---- cuda_epoch.c ---------------------------------------------------------------------------- */

/* Trace one more, untimed epoch and add the split of its time to results_json as "split". Without
 * CUPTI there is no such key. */
status_t mlpt_cuda_split(session_t *session, error_t *err);

/* Splits the time of an epoch: a kernel ran; none did, but the host was inside the driver's
 * allocator; or neither (gaps). */

typedef struct mlpt_split {
    int64_t kernels_ns, driver_ns, epoch_ns; /* the rest of the last are gaps */
} mlpt_split_t;

/* Of the events between `from_ns` and `to_ns`; kernels may overlap. */
mlpt_split_t mlpt_split(const trace_t *trace, int64_t from_ns, int64_t to_ns);

#endif
