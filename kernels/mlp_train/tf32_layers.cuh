// For train_layers.cuh: a block's gradients by tensor cores. Each of its two warps has 32 x 64 of them as accumulators
// of 16 x 8 x 8 products, until they are redistributed for the update.
#pragma once
#include "tf32.cuh"

// BIAS: also sums dy, in float32.
template <bool BIAS>
__device__ __forceinline__ void add_rows(const float *slot, unsigned rows, gradient_t &gradient, float (&bias)[8]) {
    const unsigned first_out = threadIdx.x / 32 * 32;
#pragma unroll 1
    for (unsigned r = 0; r < rows; r += 8) {  // rows after the last one are zero
        unsigned a[2][4];
#pragma unroll
        for (unsigned i = 0; i < 2; i++)
            load_a(a[i], slot + r * CHUNK_ROW + first_out + 16 * i, 1, CHUNK_ROW);
#pragma unroll
        for (unsigned j = 0; j < 8; j++) {
            unsigned b[2];
            load_b(b, slot + CHUNK_FLOATS + r * CHUNK_ROW + 8 * j, CHUNK_ROW, 1);
#pragma unroll
            for (unsigned i = 0; i < 2; i++)
                multiply_add(&gradient[4 * i + j / 2][4 * (j % 2)], a[i], b);
        }
    }
    for (unsigned r = 0; r < rows && BIAS; r++) {
        float dy[8];
        load_eight(slot + r * CHUNK_ROW, threadIdx.x / 8, dy);
#pragma unroll
        for (unsigned i = 0; i < 8; i++)
            bias[i] += dy[i];
    }
}

// Moves each thread's gradients to it, through the chunks' buffer.
__device__ __forceinline__ void redistribute(float *memory, gradient_t &gradient) {
    constexpr unsigned ROW = LAYER_TILE + 8;
    static_assert(LAYER_TILE * ROW <= LAYER_SLOTS * 2 * CHUNK_FLOATS, "the tile in the place of the chunks");
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < 2; i++)
#pragma unroll
        for (unsigned j = 0; j < 8; j++)
            store_d(memory + (threadIdx.x / 32 * 32 + 16 * i) * ROW + 8 * j, ROW, &gradient[4 * i + j / 2][4 * (j % 2)]);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < 8; i++)
        load_eight(memory + own(threadIdx.x / 8, i) * ROW, threadIdx.x % 8, gradient[i]);
}
