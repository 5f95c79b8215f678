// For wide_product.cuh: a group's sums by tensor cores. A warp has WIDE_WARP_ROWS x WIDE_WARP_COLUMNS of the tile, as
// accumulators of 16 x 8 x 8 products (tf32.cuh), which are its sums_t, row by row.
#pragma once
#include "tf32.cuh"

constexpr unsigned GROUP_WARPS = GROUP / 32;
constexpr unsigned WIDE_WARP_ROWS = HALF_ROWS ? TILE_ROWS / 2 : TILE_ROWS;
constexpr unsigned WIDE_WARP_COLUMNS = HALF_ROWS ? TILE_COLUMNS : TILE_COLUMNS / GROUP_WARPS;
constexpr unsigned WIDE_DOWN = WIDE_WARP_ROWS / 16, WIDE_ACROSS = WIDE_WARP_COLUMNS / 8;
static_assert(WIDE_WARP_ROWS % 16 == 0 && WIDE_WARP_COLUMNS % 8 == 0, "whole products");
static_assert(WIDE_DOWN * WIDE_ACROSS * 4 == ROWS_EACH * COLUMNS_EACH, "sums_t");

__device__ __forceinline__ unsigned first_row() {
    return HALF_ROWS ? threadIdx.x % GROUP / 32 * WIDE_WARP_ROWS : 0;
}
__device__ __forceinline__ unsigned first_column() {
    return HALF_ROWS ? 0 : threadIdx.x % GROUP / 32 * WIDE_WARP_COLUMNS;
}
__device__ __forceinline__ float *product_of(sums_t &sums, unsigned i, unsigned j) {
    return &sums[0][0] + 4 * (i * WIDE_ACROSS + j);
}

// Adds the next eight terms. ALONG: rows of B are the result's columns.
template <bool ALONG> __device__ __forceinline__ void add_eight(const float *slot, unsigned eight, sums_t &sums) {
    const unsigned k = 8 * eight;
    const float *a_tile = slot + first_row() * A_ROW + k, *b_tile = slot + A_FLOATS;
    unsigned a[WIDE_DOWN][4];
#pragma unroll
    for (unsigned i = 0; i < WIDE_DOWN; i++)
        load_a(a[i], a_tile + 16 * i * A_ROW, A_ROW, 1);
#pragma unroll
    for (unsigned j = 0; j < WIDE_ACROSS; j++) {
        const unsigned column = first_column() + 8 * j;
        unsigned b[2];
        if (ALONG)
            load_b(b, b_tile + column * A_ROW + k, 1, A_ROW);
        else
            load_b(b, b_tile + k * ACROSS_ROW + column, ACROSS_ROW, 1);
#pragma unroll
        for (unsigned i = 0; i < WIDE_DOWN; i++)
            multiply_add(product_of(sums, i, j), a[i], b);
    }
}

template <bool ALONG>
__device__ __forceinline__ void add_units(const float *slot, unsigned from, unsigned to, sums_t &sums) {
#pragma unroll 2
    for (unsigned eight = from; eight < to; eight++)
        add_eight<ALONG>(slot, eight, sums);
}

// Stores this warp's sums to their places in the tile.
template <bool> __device__ __forceinline__ void put_sums(float *tile, sums_t &sums) {
#pragma unroll
    for (unsigned i = 0; i < WIDE_DOWN; i++)
#pragma unroll
        for (unsigned j = 0; j < WIDE_ACROSS; j++)
            store_d(tile + (first_row() + 16 * i) * SUMS_ROW + first_column() + 8 * j, SUMS_ROW,
                    product_of(sums, i, j));
}
