/* mlp_infer on a GPU. */
#ifndef BENCH_WORKLOADS_MLP_INFER_CUDA_H
#define BENCH_WORKLOADS_MLP_INFER_CUDA_H

#include "workloads/common/gpu_sample.h"
#include "workloads/mlp_infer/data.h"

enum { MLP_MAX_ARGUMENT_WEIGHTS = 960 }; /* as in kernels/mlp_infer/mlp_infer.cuh */

typedef struct mlp_overlap {
    cu_stream_t in, out; /* copies; kernels are in gpu->stream */
    cu_event_t done;     /* of the latest step, for the stream that waits for it */
} mlp_overlap_t;

/* x, y, then unless the weights are an argument W_1 … W_L, b_1 … b_L: struct mlp_pointers. */
enum { MLP_X, MLP_Y, MLP_WEIGHTS, MLP_ARRAYS = MLP_WEIGHTS + 2 * MLP_MAX_LAYERS };

typedef struct mlp_cuda {
    gpu_sample_t sample; /* first, as gpu_sample.h asks */
    gpu_array_t arrays[MLP_ARRAYS];
    const mlp_data_t *data;
    gpu_kernel_t kernel;
    mlp_overlap_t overlap; /* copy=overlapped */
    float weights[MLP_MAX_ARGUMENT_WEIGHTS];
} mlp_cuda_t;

/* launch.c: over the batch, or over `count` samples from number `first`. */
status_t mlp_cuda_launch(gpu_sample_t *sample, error_t *err);
status_t mlp_cuda_launch_part(mlp_cuda_t *s, size_t first, size_t count, error_t *err);

/* overlap.c: copy=overlapped, a sample whose copies run while the kernel computes. */
status_t mlp_overlap_applies(const mlp_cuda_t *s, error_t *err);
status_t mlp_overlap_prepare(mlp_cuda_t *s, error_t *err);
status_t mlp_overlap_submit(gpu_sample_t *sample, error_t *err);
void mlp_overlap_release(mlp_cuda_t *s);

#endif
