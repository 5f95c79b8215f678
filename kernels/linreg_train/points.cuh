// The points of linreg_train: x from 0 to 10 in equal steps, y = 2x + 1 and noise; every fifth point is kept for the
// test. Each operation is rounded on its own, so that C, CUDA and NumPy make the same bits. Like philox.cuh this keeps
// to what C and CUDA C++ have in common: a test compiles it for the host.
#pragma once
#include "../common/philox.cuh"

#define NOISE_STREAM 1

__device__ __forceinline__ float point_x(unsigned i, float step) {
    return __fmul_rn((float)i, step);
}

// `word`: number i of the noise's stream.
__device__ __forceinline__ float point_y(float x, unsigned word) {
    return __fadd_rn(__fadd_rn(__fmul_rn(2.0f, x), 1.0f), philox_uniform(word, -0.5f, 0.5f));
}

__device__ __forceinline__ unsigned in_test_set(unsigned i) {
    return i % 5 == 4;
}

// Where point i is in the set that it belongs to.
__device__ __forceinline__ unsigned index_in_set(unsigned i) {
    return in_test_set(i) ? i / 5 : i - i / 5;
}
