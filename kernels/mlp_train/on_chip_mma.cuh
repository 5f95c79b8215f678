// For on_chip_tiles.cuh: products and gradients by tensor cores. A tile is the left factor of mma.sync (tf32.cuh). In a
// product of eight terms lane t takes terms 2t and 2t + 1, which it has, for t and t + 4.
#pragma once
#include "split_tf32.cuh"

// Where number k of a lane is in a piece or result of 16 x 8.
__device__ __forceinline__ unsigned down_of(unsigned k) {
    return threadIdx.x % 32 / 4 + k / 2 * 8;
}
__device__ __forceinline__ unsigned across_of(unsigned k) {
    return threadIdx.x % 4 * 2 + k % 2;
}

// A result of 16 neurons x 8 rows, to a matrix by rows. Those from `inside` on are padding.
__device__ __forceinline__ void store_result(float *to, int inside, const float (&v)[4]) {
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        if ((int)down_of(k) < inside)
            store_relaxed(to + across_of(k) * WIDTH + down_of(k), v[k]);
}

typedef const float (&operand_t)[4];  // a piece of a tile, this lane's numbers
template <unsigned N> using partial_t = float[N][4];

template <unsigned N> __device__ __forceinline__ void combine(float (&sums)[N][4], const partial_t<N> &partial) {
#pragma unroll
    for (unsigned j = 0; j < N; j++)
        set_four(sums[j], four_of(partial[j]));
}

// sums[j] += left right[j], one piece of the left factor.
template <unsigned N>
__device__ __forceinline__ void add_piece(float (&sums)[N][4], const factors_t<4> &left,
                                          const factors_t<2> (&right)[N]) {
    const factors_t<4> one[1] = {left};
    add_products((float(&)[1][N][4])sums, one, right);
}

// sums (16, 8 rows each) += a piece of a tile times eight terms of the factor, whose rows are the result's columns.
template <unsigned N>
__device__ __forceinline__ void add_terms(float (&sums)[N][4], operand_t piece, const float *factor) {
    const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    factors_t<4> left;
    factors_t<2> right[N];
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        set_factor(left, k, piece[k % 2 * 2 + k / 2]);
#pragma unroll
    for (unsigned j = 0; j < N; j++) {
        const float2 two = *(const float2 *)(factor + (8 * j + g) * PITCH + 2 * t);
        set_factor(right[j], 0, two.x);
        set_factor(right[j], 1, two.y);
    }
    add_piece(sums, left, right);
}

// Gradients of N pieces, by sums over all rows: deltas or inputs of sixteen neurons (columns of `own`) times eight
// columns of the factor, from column(j) on.
template <unsigned N, class Column>
__device__ __forceinline__ void add_rows(float (&sums)[N][4], const float *own, unsigned own_pitch, const float *factor,
                                         Column column) {
#pragma unroll(N == 1 ? 4 : 1) // one sum is a chain, and its loads need not be
    for (unsigned row = 0; row < ROWS; row += 8) {
        factors_t<4> left;
        factors_t<2> right[N];
        load_left(left, own + row * own_pitch, 1, own_pitch);
#pragma unroll
        for (unsigned j = 0; j < N; j++)
            load_right(right[j], factor + row * PITCH + column(j), PITCH, 1);
        add_piece(sums, left, right);
    }
}

// The same for the last layer's sixteen classes.
__device__ __forceinline__ void add_class_terms(float (&sums)[1][4], const float4 (&piece)[33], const float *factor) {
    float own[4];
    set_four(own, piece[threadIdx.x % 32]);
    add_terms<1>(sums, own, factor);
}

__device__ __forceinline__ void add_class_rows(float (&sums)[1][4], const float *deltas, const float *factor) {
    add_rows<1>(sums, deltas, CLASS_PITCH, factor, [](unsigned) { return 0; });
}
