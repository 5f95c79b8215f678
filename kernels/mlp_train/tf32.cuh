// Tensor cores on tf32: D (16, 8) += A (16, 8) B (8, 8). With g = lane / 4 and t = lane % 4 a lane holds (PTX ISA,
// "Matrix Fragments for mma.m16n8k8")
//   A  rows g, g + 8 of column t, then of column t + 4
//   B  rows t, t + 4 of column g
//   D  row g, columns 2t, 2t + 1; row g + 8
#pragma once
#include "tf32_mma.cuh"

// Matrices in shared memory, with row stride `down` and column stride `across` in floats. Calls take(k, value) for each
// number of this lane's fragment.
template <class Take>
__device__ __forceinline__ void each_of_a(const float *matrix, unsigned down, unsigned across, Take take) {
    const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        take(k, matrix[(g + k % 2 * 8) * down + (t + k / 2 * 4) * across]);
}

template <class Take>
__device__ __forceinline__ void each_of_b(const float *matrix, unsigned down, unsigned across, Take take) {
    const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (unsigned k = 0; k < 2; k++)
        take(k, matrix[(t + k * 4) * down + g * across]);
}

__device__ __forceinline__ void load_a(unsigned (&a)[4], const float *matrix, unsigned down, unsigned across) {
    each_of_a(matrix, down, across, [&](unsigned k, float value) { a[k] = to_tf32(value); });
}

__device__ __forceinline__ void load_b(unsigned (&b)[2], const float *matrix, unsigned down, unsigned across) {
    each_of_b(matrix, down, across, [&](unsigned k, float value) { b[k] = to_tf32(value); });
}

__device__ __forceinline__ void store_d(float *matrix, unsigned down, const float *d) {
    const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (unsigned k = 0; k < 2; k++)
        *(float2 *)(matrix + (g + 8 * k) * down + 2 * t) = make_float2(d[2 * k], d[2 * k + 1]);
}
