// For on_chip_tiles.cuh: products and gradients by 32-bit lanes. A lane multiplies eight neurons by eight rows (in a
// gradient by a term of each piece), so that it loads 16 numbers from shared memory for 64 multiply-adds: it can load a
// quarter of what it multiplies. The halves of a warp take different terms (rows) of the same sums, and then exchange:
// each lane keeps four neurons. The last layer's results are as in on_chip_mma.cuh.
#pragma once

__device__ __forceinline__ unsigned half_of_lane() {
    return threadIdx.x % 32 / 16;
}
__device__ __forceinline__ unsigned eight_of_lane() {
    return threadIdx.x % 16 / 8 * 8;
}

// Where number k of a lane is in a piece or result of 16 x 8.
__device__ __forceinline__ unsigned down_of(unsigned k) {
    return eight_of_lane() + half_of_lane() * 4 + k;
}
__device__ __forceinline__ unsigned across_of(unsigned) {
    return threadIdx.x % 8;
}

// A result of 16 neurons x 8 rows, to a matrix by rows. Those from `inside` on are padding.
__device__ __forceinline__ void store_result(float *to, int inside, const float (&v)[4]) {
    if ((int)down_of(0) < inside)
        store_relaxed((float4 *)(to + across_of(0) * WIDTH + down_of(0)), four_of(v));
}

// A half's sums, of eight neurons.
template <unsigned N> using partial_t = float[N][8];

__device__ __forceinline__ void add_multiples(float (&sums)[8], float4 low, float4 high, float x) {
#pragma unroll
    for (unsigned k = 0; k < 4; k++) {
        sums[k] = fmaf(component(low, k), x, sums[k]);
        sums[4 + k] = fmaf(component(high, k), x, sums[4 + k]);
    }
}

template <unsigned N> __device__ __forceinline__ void combine(float (&sums)[N][4], const partial_t<N> &partial) {
    const bool upper = half_of_lane() != 0;
#pragma unroll
    for (unsigned j = 0; j < N; j++)
#pragma unroll
        for (unsigned k = 0; k < 4; k++) {
            const float low = partial[j][k], high = partial[j][4 + k];
            sums[j][k] = (upper ? high : low) + __shfl_xor_sync(EVERY_LANE, upper ? low : high, 16);
        }
}

typedef const float4 *operand_t;  // a piece of a tile, of all lanes

// sums (16, 8 rows each) += a piece of a tile times eight terms of the factor, whose rows are the result's columns.
template <unsigned N>
__device__ __forceinline__ void add_terms(partial_t<N> &sums, operand_t piece, const float *factor) {
    const unsigned first = half_of_lane() * 4;
    float4 x[N];
#pragma unroll
    for (unsigned j = 0; j < N; j++)
        x[j] = *(const float4 *)(factor + (8 * j + across_of(0)) * PITCH + first);
#pragma unroll
    for (unsigned c = 0; c < 4; c++) {
        const float4 low = piece[eight_of_lane() + first + c], high = piece[16 + eight_of_lane() + first + c];
#pragma unroll
        for (unsigned j = 0; j < N; j++)
            add_multiples(sums[j], low, high, component(x[j], c));
    }
}

// Gradients of N pieces, by sums over all rows: deltas or inputs of sixteen neurons (columns of `own`) times eight
// columns of the factor, from column(j) on.
template <unsigned N, class Column>
__device__ __forceinline__ void add_rows(float (&sums)[N][4], const float *own, unsigned own_pitch, const float *factor,
                                         Column column) {
    partial_t<N> partial = {};
#pragma unroll 2
    for (unsigned row = half_of_lane(); row < ROWS; row += 2) {
        const float4 *of_eight = (const float4 *)(own + row * own_pitch + eight_of_lane());
        const float4 low = of_eight[0], high = of_eight[1];
#pragma unroll
        for (unsigned j = 0; j < N; j++)
            add_multiples(partial[j], low, high, factor[row * PITCH + column(j) + across_of(0)]);
    }
    combine(sums, partial);
}

// The same for the last layer's sixteen classes, of which a lane has g and g + 8, for rows or terms 2t and 2t + 1.
__device__ __forceinline__ void add_class_terms(float (&sums)[1][4], const float4 (&piece)[33], const float *factor) {
    const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (unsigned k = 0; k < 4; k++) {
        const float4 w = piece[g * 4 + k];
        const float2 x = *(const float2 *)(factor + 2 * t * PITCH + 2 * k);
        const float2 y = *(const float2 *)(factor + (2 * t + 1) * PITCH + 2 * k);
        sums[0][0] = fmaf(w.x, x.x, fmaf(w.y, x.y, sums[0][0]));
        sums[0][1] = fmaf(w.x, y.x, fmaf(w.y, y.y, sums[0][1]));
        sums[0][2] = fmaf(w.z, x.x, fmaf(w.w, x.y, sums[0][2]));
        sums[0][3] = fmaf(w.z, y.x, fmaf(w.w, y.y, sums[0][3]));
    }
}

__device__ __forceinline__ void add_class_rows(float (&sums)[1][4], const float *deltas, const float *factor) {
    const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll 8
    for (unsigned row = 0; row < ROWS; row++) {
        const float low = deltas[row * CLASS_PITCH + g], high = deltas[row * CLASS_PITCH + g + 8];
        const float2 x = *(const float2 *)(factor + row * PITCH + 2 * t);
        sums[0][0] = fmaf(low, x.x, sums[0][0]);
        sums[0][1] = fmaf(low, x.y, sums[0][1]);
        sums[0][2] = fmaf(high, x.x, sums[0][2]);
        sums[0][3] = fmaf(high, x.y, sums[0][3]);
    }
}
