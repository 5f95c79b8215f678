// Products and updates of rungs 04 and 07, for tiles of weights in shared memory. A panel's side of W is always the
// first factor's side, so a warp's fragments of W (mma.cuh), 32 of the panel by 16 of the chunk, match those of the
// gradient: a weight stays in one register of one lane from the ring through product and update back to the ring.
// The rung defines PANEL, CHUNK, and how warps share a tile: ACROSS side by side by STEPS along the chunk.
#pragma once
#include "common/tensor_cores.cuh"
#include "sums.cuh"

// Vector `vector` of row `row`, in rows of a multiple of 128 bytes, swizzled so that neither eight rows of a column nor
// a row's eight vectors share banks.
template <unsigned ROW_HALVES> __device__ __forceinline__ unsigned swizzled(unsigned row, unsigned vector) {
    return row * ROW_HALVES * sizeof(half) + (vector ^ row % 8) * 16;
}

typedef unsigned weights_t[2][4];
typedef sums_t warp_sums_t[2][BATCH / 8];    // 32 of the panel, by images
typedef unsigned panel_t[2][BATCH / 16][4];  // 32 of the panel, by images: left factor of gradients

__device__ __forceinline__ unsigned across() {
    return warp() % ACROSS;
}
__device__ __forceinline__ unsigned step_of_warp() {
    return warp() / ACROSS % STEPS;
}
// Addresses for load_matrices() from vector `vector` of row `row`: matrices 1 and 3 are the eight rows below 0 and 2,
// which are neighbours; or the other way round.
template <unsigned ROW_HALVES> __device__ __forceinline__ unsigned rows_first(unsigned row, unsigned vector) {
    return swizzled<ROW_HALVES>(row + lane() / 8 % 2 * 8 + lane() % 8, vector + lane() / 16);
}
template <unsigned ROW_HALVES> __device__ __forceinline__ unsigned vectors_first(unsigned row, unsigned vector) {
    return swizzled<ROW_HALVES>(row + lane() / 16 * 8 + lane() % 8, vector + lane() / 8 % 2);
}

// A warp's two fragments of 16 of the panel.
template <bool TRANSPOSED>
__device__ __forceinline__ void load_weights(weights_t &to, unsigned first, unsigned second) {
    load_matrices<TRANSPOSED>(to[0], first);
    load_matrices<TRANSPOSED>(to[1], second);
}
template <bool TRANSPOSED>
__device__ __forceinline__ void store_weights(unsigned first, unsigned second, const weights_t &from) {
    store_matrices<TRANSPOSED>(first, from[0]);
    store_matrices<TRANSPOSED>(second, from[1]);
}

// sums += W · slab, over this warp's 16 of the chunk.
__device__ __forceinline__ void add_products(warp_sums_t &sums, const weights_t &w, unsigned slab) {
    unsigned right[BATCH / 16][4];
#pragma unroll
    for (unsigned i = 0; i < BATCH / 16; i++)
        load_matrices<false>(right[i], slab + vectors_first<CHUNK>(i * 16, step_of_warp() * 2));
#pragma unroll
    for (unsigned m = 0; m < 2; m++)
#pragma unroll
        for (unsigned n = 0; n < BATCH / 8; n++) {
            const unsigned b[2] = {right[n / 2][n % 2 * 2], right[n / 2][n % 2 * 2 + 1]};
            multiply_add(sums[m][n], w[m], b);
        }
}

// W -= rate · left · slab, over all images.
__device__ __forceinline__ void step_weights(weights_t &w, weights_t &low, const panel_t &left, unsigned slab,
                                             float rate) {
    constexpr float SHARE = 1.0f / BATCH;  // a power of two: no rounding
    unsigned right[BATCH / 16][4];
#pragma unroll
    for (unsigned k = 0; k < BATCH / 16; k++)
        load_matrices<true>(right[k], slab + rows_first<CHUNK>(k * 16, step_of_warp() * 2));
#pragma unroll
    for (unsigned m = 0; m < 2; m++)
#pragma unroll
        for (unsigned n = 0; n < 2; n++) {
            float g[4] = {};
#pragma unroll
            for (unsigned k = 0; k < BATCH / 16; k++) {
                const unsigned b[2] = {right[k][2 * n], right[k][2 * n + 1]};
                multiply_add(g, left[m][k], b);
            }
#pragma unroll
            for (unsigned i = 0; i < 2; i++)
                update_pair(w[m][2 * n + i], low[m][2 * n + i], g[2 * i], g[2 * i + 1], rate * SHARE);
        }
}

// The fragments of a panel (BATCH, PANEL) in shared memory.
__device__ __forceinline__ void load_panel(panel_t &to, unsigned panel) {
#pragma unroll
    for (unsigned m = 0; m < 2; m++)
#pragma unroll
        for (unsigned k = 0; k < BATCH / 16; k++)
            load_matrices<true>(to[m][k], panel + vectors_first<PANEL>(k * 16, across() * 4 + m * 2));
}
