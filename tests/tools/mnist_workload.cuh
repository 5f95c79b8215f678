// What `bench` defines for a rung of mnist_train, for probes: included before the rung, for HIDDEN units.
#pragma once
#include <cuda_fp16.h>

#define BATCH 32
#define DTYPE_F16 1
#define DTYPE_MIXED 0
#define ACCUMULATE_F16 0
#define WORKLOAD_STEPS 2000
#define WORKLOAD_TYPES                                                                                                 \
    typedef half T;                                                                                                    \
    typedef half W;
#define WORKLOAD_ARGUMENTS                                                                                             \
    W *w0, W *b0, W *w1, W *b1, W *w2, W *b2, W *w3, W *b3, const T *x, const unsigned char *labels, const int *order, \
        float *loss, unsigned char *workspace, float rate, long long steps, long long seed,                            \
        long long images WORKLOAD_STEP
#ifndef __CUDA_ARCH__  // kernels are declared for the host, too
#define __CUDA_ARCH__ 900
#endif
