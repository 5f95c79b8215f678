#include "engine/host_info.h"
#include "worker/engines.h"
#include "workloads/common/sessions.h"

#include <omp.h>

static status_t start(int index, void **state, environment_t *facts, error_t *err) {
    (void)index;
    (void)err;
    *state = NULL;
    char name[HOST_TEXT];
    environment_set(facts, "device.kind", "cpu");
    environment_set(facts, "device.name", host_cpu_name(name));
    environment_set_number(facts, "versions.openmp_threads", omp_get_max_threads());
    return STATUS_OK;
}

static void stop(void *state) {
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
    .name = "cpu", .start = start, .stop = stop, .workloads = CPU_WORKLOADS};
const engine_t engine_null = {
    .name = "null", .start = start, .stop = stop, .workloads = NULL_WORKLOADS};
