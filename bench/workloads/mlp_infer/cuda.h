/* mlp_infer on a GPU. A sample is allocate → copy in → launch → copy out → release; the techniques
 * alloc, copy, weights, launch and wait determine how each step is done. */
#ifndef BENCH_WORKLOADS_MLP_INFER_CUDA_H
#define BENCH_WORKLOADS_MLP_INFER_CUDA_H

#include "engine/gpu.h"
#include "engine/session.h"
#include "workloads/common/random_fill.h"
#include "workloads/mlp_infer/data.h"

#include <stdbool.h>

enum { MLP_MAX_ARGUMENT_WEIGHTS = 960 }; /* as in kernels/mlp_infer/mlp_infer.cuh */

typedef enum mlp_alloc { ALLOC_MALLOC, ALLOC_ASYNC, ALLOC_ARENA } mlp_alloc_t;
typedef enum mlp_copy { COPY_PAGEABLE, COPY_PINNED, COPY_MAPPED, COPY_OVERLAPPED } mlp_copy_t;

/* Device memory of one sample, in the layout of the kernel's arguments. */
typedef struct mlp_buffers {
    cu_pointer_t x, y;
    cu_pointer_t wb[2 * MLP_MAX_LAYERS]; /* struct mlp_pointers: W_1 … W_L, then b_1 … b_L */
} mlp_buffers_t;

typedef struct mlp_overlap {
    cu_stream_t in, out; /* copies; kernels are in gpu->stream */
    cu_event_t done;     /* of the latest step, for the stream that waits for it */
} mlp_overlap_t;

typedef struct mlp_cuda {
    gpu_t *gpu;
    const mlp_data_t *data;
    gpu_kernel_t kernel;
    mlp_alloc_t alloc;
    mlp_copy_t copy;
    bool upload; /* copy the weights in each sample */
    bool poll;   /* wait=poll */
    bool weights_by_value;
    /* Host side, float32 or f16 bits: x is pinned or mapped memory, or (pageable) that of `data`. */
    void *x, *y;
    size_t x_bytes, y_bytes;
    uint64_t x_seed, fixed_seed; /* of the signs of x and fixed.x, unless that is the same memory */
    const void *nans;            /* wait=poll: the tile of NaNs that y was filled with */
    void *last;                  /* a copy of y after the last fresh sample of host_to_host */
    mlp_buffers_t fixed;         /* allocated once: for alloc=arena and batches of launches */
    mlp_buffers_t current;       /* of this sample */
    bool fill_y;                 /* with random values, in the next sample */
    cu_graph_exec_t whole;       /* launch=graph: the whole sample */
    mlp_overlap_t overlap;       /* copy=overlapped */
    cu_graph_exec_t batch;       /* many launches, for kernel_graph */
    unsigned batch_launches;
    float weights[MLP_MAX_ARGUMENT_WEIGHTS];
    unsigned phase[16];
    bool has_phase[16];
} mlp_cuda_t;

status_t mlp_cuda_allocate(mlp_cuda_t *s, mlp_buffers_t *buffers, error_t *err);
random_kind_t mlp_cuda_random(const mlp_cuda_t *s); /* of outputs */
/* Free what this sample allocated. */
status_t mlp_cuda_release(mlp_cuda_t *s, error_t *err);
void mlp_cuda_release_all(mlp_cuda_t *s);
status_t mlp_cuda_copy_in(mlp_cuda_t *s, error_t *err);
status_t mlp_cuda_copy_weights(mlp_cuda_t *s, mlp_buffers_t *buffers, error_t *err);
status_t mlp_cuda_launch(mlp_cuda_t *s, error_t *err);
/* Over `count` samples from number `first`. */
status_t mlp_cuda_launch_part(mlp_cuda_t *s, size_t first, size_t count, error_t *err);
status_t mlp_cuda_copy_out(mlp_cuda_t *s, error_t *err);
/* Copies and kernels of a sample, without waiting for them. */
status_t mlp_cuda_submit(mlp_cuda_t *s, error_t *err);
/* A complete sample, synchronised only at its end. */
status_t mlp_cuda_sample(mlp_cuda_t *s, error_t *err);
/* Keep its outputs in s->last; to be called once its time is taken. */
void mlp_cuda_keep(mlp_cuda_t *s);

/* Does a sample allocate, copy in, copy out anything? Empty phases are not reported. */
bool mlp_cuda_allocates(const mlp_cuda_t *s);
bool mlp_cuda_copies_in(const mlp_cuda_t *s);
bool mlp_cuda_copies_out(const mlp_cuda_t *s);

/* overlap.c: copy=overlapped, a sample whose copies run while the kernel computes. */
status_t mlp_overlap_applies(const mlp_cuda_t *s, error_t *err);
status_t mlp_overlap_prepare(mlp_cuda_t *s, error_t *err);
status_t mlp_overlap_submit(mlp_cuda_t *s, error_t *err);
void mlp_overlap_release(mlp_cuda_t *s);

/* Declare the phases and probes of this case in the session (probes.c). */
status_t mlp_cuda_add_probes(session_t *session, error_t *err);

#endif
