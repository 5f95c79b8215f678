// Copies of matrix tiles into shared memory, from rung 03 on.
#pragma once
#include "mlp_train.cuh"
#include "ptx.cuh"

constexpr unsigned WORDS = WIDTH % 4 == 0 ? 4 : 1;

// A tile of a row-major matrix, from `row` and `column`; beyond `rows` and `columns` it is zero.
struct part_t {
    const float *matrix;
    const unsigned *order;  // or null: row r is the matrix row order[r]
    size_t stride;
    unsigned row, rows, column, columns;
};

// Copies a tile (ROWS, COLUMNS) with row pitch PITCH by vectors of WORDS: 4 where rows and columns begin at multiples
// of four. Indices are loaded before all copies, because loads cannot move past them.
template <unsigned ROWS, unsigned COLUMNS, unsigned PITCH, unsigned THREADS, unsigned WORDS>
__device__ __forceinline__ void copy_tile(float *tile, const part_t &part) {
    static_assert(COLUMNS % WORDS == 0 && PITCH % WORDS == 0, "whole vectors");
    constexpr unsigned ACROSS = COLUMNS / WORDS, ALL = ROWS * ACROSS, EACH = (ALL + THREADS - 1) / THREADS;
    unsigned source[EACH];
#pragma unroll
    for (unsigned k = 0; k < EACH; k++) {
        const unsigned row = part.row + (k * THREADS + threadIdx.x) / ACROSS;
        source[k] = part.order != nullptr && row < part.rows ? part.order[row] : row;
    }
#pragma unroll
    for (unsigned k = 0; k < EACH; k++) {
        const unsigned i = k * THREADS + threadIdx.x, r = i / ACROSS, c = i % ACROSS * WORDS;
        if (ALL % THREADS != 0 && i >= ALL)
            break;
        const bool inside = part.row + r < part.rows && part.column + c < part.columns;
        const float *from = part.matrix + source[k] * part.stride + part.column + c;
        copy_async<4 * WORDS>(tile + r * PITCH + c, inside ? from : part.matrix, inside);
    }
}

extern __shared__ float4 shared_memory[];

__device__ __forceinline__ float4 as_float4(const float *from) {
    return *(const float4 *)from;
}

__device__ __forceinline__ float4 add(const float4 &a, const float4 &b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__device__ __forceinline__ float component(const float4 &v, unsigned k) {
    return k == 0 ? v.x : k == 1 ? v.y : k == 2 ? v.z : v.w;
}

// Four neighbours of a row of `columns`; zeros beyond it.
__device__ __forceinline__ float4 load_four(const float *row, unsigned column, unsigned columns) {
    if (columns % 4 == 0 && column < columns)
        return __ldcg((const float4 *)(row + column));
    float values[4] = {};
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        if (column + k < columns)
            values[k] = __ldcg(row + column + k);
    return make_float4(values[0], values[1], values[2], values[3]);
}

// Stores four neighbours of a row of `columns`, except those beyond it.
__device__ __forceinline__ void store_four(float *row, unsigned column, unsigned columns, float4 v) {
    if (columns % 4 == 0 && column < columns)
        *(float4 *)(row + column) = v;
    else {
        const float values[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (unsigned k = 0; k < 4; k++)
            if (column + k < columns)
                row[column + k] = values[k];
    }
}
