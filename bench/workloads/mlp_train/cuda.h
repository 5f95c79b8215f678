/* The pieces of mlp_train on a GPU. Images, start weights and parameters lie on the device as the
 * case is opened; an epoch is order → steps → validation, submitted by the loop in
 * loop.h or replayed from graphs of it. Which kernels there are, and their geometry, a
 * rung says in its cubin (stages and plan in kernels/common/launch.cuh). */
#ifndef BENCH_WORKLOADS_MLP_TRAIN_CUDA_H
#define BENCH_WORKLOADS_MLP_TRAIN_CUDA_H

#include "engine/gpu_module.h"
#include "engine/session.h"
#include "workloads/mlp_train/loop.h"
#include "workloads/mnist/fit.h"

enum { MLPT_GRAPH_STEPS = 512 }; /* at most, in one graph: an epoch replays it */

/* Steps of an epoch, captured. */
typedef struct mlpt_graph {
    cu_graph_exec_t exec; /* NULL: none */
    size_t steps;
} mlpt_graph_t;

typedef struct mlpt_cuda {
    gpu_t *gpu;
    gpu_program_t program;
    const gpu_stage_t *stages[MLPT_OPERATORS]; /* NULL: the rung lacks it */
    mlpt_shape_t shape;
    const mnist_data_t *data;
    allocator_kind_t kind;
    allocator_t *allocator; /* of what operators return; all else is there for the whole case */
    mlpt_loop_t loop;
    gpu_memory_t memory;            /* of what is there for the whole case */
    size_t parameter_bytes;         /* all weights and biases, each at a multiple of 256 */
    cu_pointer_t parameters, start; /* the weights that train; those that training starts from */
    cu_pointer_t order, losses;     /* of one epoch */
    cu_pointer_t sums;              /* of a validation */
    /* plan.graph: one graph of whole batches, replayed, and one of the steps that are left. The
     * first reads its images' numbers at `window_order` and leaves its losses at `window_losses`:
     * copied there, and from there, around each replay. */
    mlpt_graph_t whole, rest;
    size_t replays;
    cu_pointer_t window_order, window_losses;
    uint32_t *host_order; /* pinned, as these */
    float *host_losses, *host_sums;
    mnist_fit_t fit;
} mlpt_cuda_t;

/* ---- cuda_epoch.c: submit work and do not wait for it ---------------------------------------- */

/* Find the rung's kernels and give the loop its functions. */
status_t mlpt_cuda_connect(mlpt_cuda_t *s, error_t *err);
status_t mlpt_cuda_restore(mlpt_cuda_t *s, error_t *err); /* the start weights */
/* The order of epoch number `epoch` to the pinned memory; then to the device. */
void mlpt_cuda_shuffle(mlpt_cuda_t *s, uint32_t epoch);
status_t mlpt_cuda_upload_order(mlpt_cuda_t *s, error_t *err);
/* The epoch's first `steps` steps (of graphs: all), with the order that is on the device; losses
 * come back to the host. */
status_t mlpt_cuda_epoch(mlpt_cuda_t *s, size_t steps, error_t *err);
/* Sums come back to the host. */
status_t mlpt_cuda_validate(mlpt_cuda_t *s, error_t *err);
/* One step of the order that is there, by the loop itself. */
status_t mlpt_cuda_first_step(mlpt_cuda_t *s, error_t *err);
status_t mlpt_cuda_last_step(mlpt_cuda_t *s, error_t *err);

/* Capture the epoch's steps where the plan asks for it. Every kind of pass has been run before, and
 * both sizes of a batch, so that the allocator has what they need and asks the driver for nothing.
 */
status_t mlpt_cuda_capture(mlpt_cuda_t *s, error_t *err);
void mlpt_cuda_drop_graphs(mlpt_cuda_t *s);

/* ---- probes.c -------------------------------------------------------------------------------- */
void mlpt_cuda_add_probes(session_t *session);

/* ---- time_split.c ---------------------------------------------------------------------------- */

/* One more epoch, untimed and listened to: where its time went, into results_json as "split".
 * Without CUPTI there is no such key. */
status_t mlpt_cuda_split(session_t *session, error_t *err);

#endif
