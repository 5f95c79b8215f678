/* Splits the time of an epoch: a kernel ran; none did, but the host was inside the driver's
 * allocator; or neither (gaps). */
#ifndef BENCH_WORKLOADS_MLP_TRAIN_CUDA_EPOCH_H
#define BENCH_WORKLOADS_MLP_TRAIN_CUDA_EPOCH_H

#include "engine/trace.h"

typedef struct mlpt_split {
    int64_t kernels_ns, driver_ns, epoch_ns; /* the rest of the last are gaps */
} mlpt_split_t;

/* Of the events between `from_ns` and `to_ns`; kernels may overlap. */
mlpt_split_t mlpt_split(const trace_t *trace, int64_t from_ns, int64_t to_ns);

#endif
