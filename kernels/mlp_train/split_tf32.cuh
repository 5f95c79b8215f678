// A float32 is the sum of two tf32 numbers up to a part in 2^21. Of the four products of two such sums three are
// computed, which makes a float32 product. For dtype tf32 the first number is the factor.
#pragma once
#include "tf32.cuh"

constexpr unsigned HALF_TF32 = 0x1000, TF32_BITS = 0xFFFFE000;  // tensor cores ignore the last 13 bits

template <unsigned N> struct factors_t { unsigned first[N], second[DTYPE_TF32 ? 1 : N]; };

template <unsigned N> __device__ __forceinline__ void set_factor(factors_t<N> &factors, unsigned i, float value) {
    const unsigned rounded = __float_as_uint(value) + HALF_TF32;
    factors.first[i] = rounded;
    if (!DTYPE_TF32)
        factors.second[i] = __float_as_uint(value - __uint_as_float(rounded & TF32_BITS)) + HALF_TF32;
}

// Fragments (16, 8) and (8, 8) of a matrix: see tf32.cuh.
__device__ __forceinline__ void load_left(factors_t<4> &a, const float *matrix, unsigned down, unsigned across) {
    each_of_a(matrix, down, across, [&](unsigned k, float value) { set_factor(a, k, value); });
}

__device__ __forceinline__ void load_right(factors_t<2> &b, const float *matrix, unsigned down, unsigned across) {
    each_of_b(matrix, down, across, [&](unsigned k, float value) { set_factor(b, k, value); });
}

// sums[i][j] += a[i] b[j], the small products first.
template <unsigned LEFT, unsigned RIGHT>
__device__ __forceinline__ void add_products(float (&sums)[LEFT][RIGHT][4], const factors_t<4> (&a)[LEFT],
                                             const factors_t<2> (&b)[RIGHT]) {
#pragma unroll
    for (unsigned term = DTYPE_TF32 ? 2 : 0; term < 3; term++)
#pragma unroll
        for (unsigned i = 0; i < LEFT; i++)
#pragma unroll
            for (unsigned j = 0; j < RIGHT; j++) {
                if constexpr (DTYPE_TF32)
                    multiply_add(sums[i][j], a[i].first, b[j].first);
                else
                    multiply_add(sums[i][j], term == 0 ? a[i].second : a[i].first,
                                 term == 1 ? b[j].second : b[j].first);
            }
}
