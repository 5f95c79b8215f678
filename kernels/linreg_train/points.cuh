// The points of linreg_train: x from 0 to 10 in equal steps, y = 2x + 1 plus noise; every fifth point is in the test
// set. Each operation is rounded, so that C, CUDA and NumPy compute the same bits. Like philox.cuh, a test compiles it
// for the host.
#pragma once
#include "../common/philox.cuh"

#define NOISE_STREAM 1

__device__ __forceinline__ float point_x(unsigned i, float step) {
    return __fmul_rn((float)i, step);
}

// `word`: number i of the noise stream.
__device__ __forceinline__ float point_y(float x, unsigned word) {
    return __fadd_rn(__fadd_rn(__fmul_rn(2.0f, x), 1.0f), philox_uniform(word, -0.5f, 0.5f));
}

__device__ __forceinline__ unsigned in_test_set(unsigned i) {
    return i % 5 == 4;
}

// The index of point i in its set.
__device__ __forceinline__ unsigned index_in_set(unsigned i) {
    return in_test_set(i) ? i / 5 : i - i / 5;
}
