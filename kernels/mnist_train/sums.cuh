// What rungs 03, 04 and 07 share: a thread's place, sums of products, masks.
#pragma once
#include "mnist_train.cuh"

#if ACCUMULATE_F16
typedef unsigned sums_t[2];
__device__ __forceinline__ float4 in_float32(const sums_t &sums) {
    const float2 row = to_floats(sums[0]), row_8 = to_floats(sums[1]);
    return make_float4(row.x, row.y, row_8.x, row_8.y);
}
#else
typedef float sums_t[4];
__device__ __forceinline__ float4 in_float32(const sums_t &sums) {
    return make_float4(sums[0], sums[1], sums[2], sums[3]);
}
#endif

__device__ __forceinline__ unsigned lane() {
    return threadIdx.x % 32;
}
__device__ __forceinline__ unsigned warp() {
    return threadIdx.x / 32;
}

// 0 where the activation is 0.
__device__ __forceinline__ unsigned masked(float value, float next_value, unsigned activations) {
    const float2 a = to_floats(activations);
    return to_halves(a.x > 0 ? value : 0, a.y > 0 ? next_value : 0);
}
