/* The descriptors in the table of workloads/registry.c, from bench/workloads/<name>/descriptor.c.
 * Other code finds them by name through workload.h. */
#ifndef BENCH_WORKLOADS_COMMON_DESCRIPTORS_H
#define BENCH_WORKLOADS_COMMON_DESCRIPTORS_H

#include "workloads/common/workload.h"

#include <string.h>

/* The tolerance of workloads without arithmetic, whose outputs are copied or counted. */
static inline double workload_exact(const case_t *spec) {
    (void)spec;
    return 1e-12;
}

/* workload_t.arithmetic of matrix products in the case's dtype. */
static inline const char *workload_multiplies(const case_t *spec) {
    return spec->dtype;
}

/* The same of float32 without matrix products. */
static inline const char *workload_uses_lanes(const case_t *spec) {
    return strcmp(spec->dtype, "f32") == 0 ? "fp32" : NULL;
}

extern const workload_t workload_mlp_infer, workload_linreg_train, workload_mnist_train;
extern const workload_t workload_mlp_train;
extern const workload_t workload_null, workload_device, workload_allocate;

#endif
