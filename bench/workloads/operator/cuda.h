/* An operator's case on a GPU. */
#ifndef BENCH_WORKLOADS_OPERATOR_CUDA_H
#define BENCH_WORKLOADS_OPERATOR_CUDA_H

#include "workloads/common/gpu_sample.h"
#include "workloads/operator/data.h"
#include "workloads/operator/launches.h"
#include "workloads/operator/tensor_maps.h"

enum {
    MOST_ARGUMENTS = OPERATOR_ARRAYS + 1 + OPERATOR_ARRAYS + OPERATOR_PARAMS + MOST_TENSOR_MAPS
};

typedef struct operator_cuda {
    gpu_sample_t sample;                     /* first, as gpu_sample.h asks */
    gpu_array_t arrays[OPERATOR_ARRAYS + 1]; /* the description's, and the workspace */
    const operator_description_t *description;
    const operator_data_t *data;
    gpu_kernel_t refill; /* kernels/common/refill.cu */
    cu_module_t module;
    launches_t launches;
    cu_function_t functions[MOST_LAUNCHES];
    launch_size_t sizes[MOST_LAUNCHES];
    tensor_maps_t maps;
    tensor_map_size_t map_sizes[MOST_TENSOR_MAPS];
    cu_tensor_map_t encoded[MOST_TENSOR_MAPS];
    cu_pointer_t encoded_for[MOST_TENSOR_MAPS]; /* addresses of their arrays; 0: not yet */
    int64_t params[OPERATOR_PARAMS];
    operator_value_t scalars[OPERATOR_ARRAYS];
    void *arguments[MOST_ARGUMENTS]; /* point into the arrays, scalars, params and maps */
} operator_cuda_t;

/* Read and load a rung's program for this case, with session->state->description set: tables, sizes, kernels. Marks the case
 * as skipped if its sizes are not possible. */
status_t operator_program_load(session_t *session, const char *cubin, size_t *workspace_bytes,
                               error_t *err);
void operator_program_unload(operator_cuda_t *s);
/* Point the kernels' arguments at the arrays, scalars, params and maps. */
void operator_list_arguments(operator_cuda_t *s, const case_t *spec);
status_t operator_launch(gpu_sample_t *sample, error_t *err);

#endif
