#include "worker/engines.h"

#include "base/memory.h"
#include "engine/gpu.h"
#include "engine/session.h"
#include "workloads/common/workload.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

static status_t start_cpu(int index, void **state, environment_t *facts, error_t *err) {
    (void)index;
    (void)err;
    *state = NULL;
    char name[HOST_TEXT];
    environment_set(facts, "device.kind", "cpu");
    environment_set(facts, "device.name", host_cpu_name(name));
    environment_set_number(facts, "versions.openmp_threads", omp_get_max_threads());
    return STATUS_OK;
}

static void stop_cpu(void *state) {
    (void)state;
}

static const session_ops_t *const CPU_WORKLOADS[] = {&mlp_infer_cpu,
                                                     &linreg_train_cpu,
                                                     &mnist_train_cpu,
                                                     &mlp_train_cpu,
                                                     &device_copy_cpu,
                                                     &allocate_cpu,
                                                     NULL};
static const session_ops_t *const NULL_WORKLOADS[] = {&null_synthetic, NULL};

const engine_t engine_cpu = {
    .name = "cpu", .start = start_cpu, .stop = stop_cpu, .workloads = CPU_WORKLOADS};
const engine_t engine_null = {
    .name = "null", .start = start_cpu, .stop = stop_cpu, .workloads = NULL_WORKLOADS};

static status_t start_cuda(int index, void **state, environment_t *facts, error_t *err) {
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

static void stop_cuda(void *state) {
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
    .name = "cuda", .start = start_cuda, .stop = stop_cuda, .check = check, .workloads = WORKLOADS};

static const engine_t *const ENGINES[] = {&engine_cpu, &engine_cuda, &engine_null};

const engine_t *engine_find(const char *name) {
    for (size_t i = 0; i < sizeof ENGINES / sizeof *ENGINES; i++)
        if (strcmp(ENGINES[i]->name, name) == 0)
            return ENGINES[i];
    return NULL;
}
