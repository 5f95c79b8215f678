#include "base/memory.h"
#include "engine/gpu.h"
#include "worker/engines.h"
#include "workloads/common/sessions.h"

#include <stdlib.h>

static status_t start(int index, void **state, environment_t *facts, error_t *err) {
    gpu_t *gpu = mem_zeroed(1, sizeof *gpu);
    status_t status = gpu_open(index, gpu, facts, err);
    if (status != STATUS_OK) {
        gpu_close(gpu);
        free(gpu);
        gpu = NULL;
    }
    *state = gpu;
    return status;
}

static void stop(void *state) {
    if (state != NULL)
        gpu_close(state);
    free(state);
}

static const session_ops_t *const WORKLOADS[] = {
    &mlp_infer_cuda, &linreg_train_cuda, &mnist_train_cuda,
    &mlp_train_cuda, &null_cuda,         &device_copy_cuda,
    &allocate_cuda,  &operator_cuda,     NULL};

/* After a fault in a kernel every call in its context, this one too, returns the same error (CUDA
 * C++ Programming Guide, error checking). */
static status_t check(void *state, error_t *err) {
    const gpu_t *gpu = state;
    return cuda_check(&gpu->api, gpu->api.context_sync(), "context_sync", err);
}

const engine_t engine_cuda = {
    .name = "cuda", .start = start, .stop = stop, .check = check, .workloads = WORKLOADS};
