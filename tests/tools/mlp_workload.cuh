// What `bench` defines for a rung of mlp_train, for probes: included before the rung, with WIDTH, DEPTH, BATCH and DTYPE_TF32.
#pragma once

#define WORKLOAD_STEPS (unsigned)epochs  // probes have calls of any number of steps
#define WORKLOAD_TYPES typedef float T;
#define WORKLOAD_ARGUMENTS                                                                                             \
    const T *x, const unsigned char *labels, const int *order, array_list<T, DEPTH> const WORKLOAD_CONSTANT w,         \
        array_list<T, DEPTH> const WORKLOAD_CONSTANT b, float *loss, unsigned char *workspace, float rate,             \
        long long epochs, long long seed, long long images WORKLOAD_STEP
#ifndef __CUDA_ARCH__  // kernels are declared for the host, too
#define __CUDA_ARCH__ 900
#endif
