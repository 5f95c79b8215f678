/* An operator's case on a GPU. */
#ifndef BENCH_WORKLOADS_OPERATOR_CUDA_H
#define BENCH_WORKLOADS_OPERATOR_CUDA_H

#include "workloads/common/gpu_sample.h"

status_t operator_launch(gpu_sample_t *sample, error_t *err);

#endif
