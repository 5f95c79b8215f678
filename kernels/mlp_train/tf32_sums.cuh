// For wide_product.cuh: the sums of a group by tensor cores. A warp has TILE_ROWS x 32 of the tile, as accumulators of
// products of 16 x 8 x 8 (tf32.cuh).
#pragma once
#include "tf32.cuh"

constexpr unsigned WARP_COLUMNS = 32, EIGHTS = CHUNK / 8;
static_assert(TILE_ROWS % 16 == 0 && TILE_COLUMNS % WARP_COLUMNS == 0, "whole products");

// The sums' next eight terms. ALONG: rows of B are the result's columns.
template <bool ALONG> __device__ __forceinline__ void add_eight(const float *slot, unsigned eight, sums_t &sums) {
    const unsigned first_column = threadIdx.x % GROUP / 32 * WARP_COLUMNS, k = 8 * eight;
    const float *b_tile = slot + A_FLOATS;
    unsigned a[TILE_ROWS / 16][4];
#pragma unroll
    for (unsigned i = 0; i < TILE_ROWS / 16; i++)
        load_a(a[i], slot + 16 * i * (CHUNK + PAD) + k, CHUNK + PAD, 1);
#pragma unroll
    for (unsigned j = 0; j < WARP_COLUMNS / 8; j++) {
        const unsigned column = first_column + 8 * j;
        unsigned b[2];
        if (ALONG)
            load_b(b, b_tile + column * (CHUNK + PAD) + k, 1, CHUNK + PAD);
        else
            load_b(b, b_tile + k * ACROSS_ROW + column, ACROSS_ROW, 1);
#pragma unroll
        for (unsigned i = 0; i < TILE_ROWS / 16; i++)
            multiply_add(&sums[2 * i + j / 2][4 * (j % 2)], a[i], b);
    }
}

// The chunk's end is filled with zeros.
template <bool ALONG> __device__ __forceinline__ void add_chunk(const float *slot, unsigned fours, sums_t &sums) {
    const unsigned group = threadIdx.x / GROUP;
    if (fours >= FOURS) {
#pragma unroll
        for (unsigned eight = 0; eight < EIGHTS; eight += GROUPS)
            add_eight<ALONG>(slot, eight + group, sums);
    } else {
#pragma unroll 1
        for (unsigned eight = group; 2 * eight < fours; eight += GROUPS)
            add_eight<ALONG>(slot, eight, sums);
    }
}

// This warp's sums, to where they belong in the tile.
__device__ __forceinline__ void put_sums(float *tile, const sums_t &sums) {
    const unsigned first_column = threadIdx.x % GROUP / 32 * WARP_COLUMNS;
#pragma unroll
    for (unsigned i = 0; i < TILE_ROWS / 16; i++)
#pragma unroll
        for (unsigned j = 0; j < WARP_COLUMNS / 8; j++)
            store_d(tile + 16 * i * TILE_COLUMNS + first_column + 8 * j, TILE_COLUMNS, &sums[2 * i + j / 2][4 * (j % 2)]);
}
