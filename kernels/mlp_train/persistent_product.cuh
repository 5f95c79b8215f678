// Rung 05's products: ROWS rows times the weights of a cluster's COLUMNS neurons, or, on the way back, inputs. Each of
// the cluster's blocks has a quarter of the sum, each of its warps an eighth of that, for which it copies both factors
// itself: no thread waits for another warp's copies. A thread has 8 x COLUMNS_EACH_LANE sums. Partial sums are added in
// a fixed order, the block's first, then the cluster's.
#pragma once
#include "tiles.cuh"

constexpr unsigned ROWS = 64, WARPS = 8, THREADS = WARPS * 32, CLUSTER = 4;
// 28 clusters of four fit any GPU of a hundred and some multiprocessors, whichever of them it lacks.
constexpr unsigned MOST_CLUSTERS = 28;
constexpr unsigned EACH = (WIDTH + 4 * MOST_CLUSTERS - 1) / (4 * MOST_CLUSTERS), COLUMNS = 4 * EACH;
constexpr unsigned CLUSTERS = (WIDTH + COLUMNS - 1) / COLUMNS, BLOCKS = CLUSTERS * CLUSTER;

// A block's part of a sum over n, in whole fours; and how far apart rows of it lie: eight begin in different banks.
__host__ __device__ constexpr unsigned part_of(unsigned n) {
    return (n / 4 + CLUSTER - 1) / CLUSTER * 4;
}
__host__ __device__ constexpr unsigned pitch_of(unsigned part) {
    return part % 8 == 4 ? part : part + 4;
}
constexpr unsigned PIXEL_PART = part_of(PIXELS), HIDDEN_PART = part_of(WIDTH);
constexpr unsigned LONGEST_PART = PIXEL_PART > HIDDEN_PART ? PIXEL_PART : HIDDEN_PART;
constexpr unsigned PITCH = pitch_of(LONGEST_PART);
static_assert(LONGEST_PART / 4 <= 8 * WARPS, "a warp copies eight fours of a row, in two halves");

constexpr unsigned TILE = ROWS * COLUMNS, SHARE = TILE / 4 / CLUSTER;  // of a block, in fours
constexpr unsigned FACTOR = ROWS * PITCH > WARPS * TILE ? ROWS * PITCH : WARPS * TILE;
constexpr unsigned DELTA_GROUP = (EACH + 3) / 4 * 4, DELTA_ROW = 4 * DELTA_GROUP;

// A block's shared memory.
struct block_t {
    float factor[FACTOR];           // of a product, rows PITCH apart; behind it, all warps' sums
    float inputs[ROWS * PITCH];     // of a layer, for its gradients
    float w[2][COLUMNS * PITCH];    // of a product and of the next one
    float deltas[ROWS * DELTA_ROW]; // of a layer's neurons, for its gradients
    float logits[CLASSES][WARPS];
    float bias[DEPTH - 1][COLUMNS];
};

typedef float sums_of_thread_t[8][EACH];

__device__ __forceinline__ float4 load_four(const float *from) {
    return __ldcg((const float4 *)from);
}

// The warp's fours of a part.
template <unsigned PART> __device__ __forceinline__ unsigned first_four(unsigned warp) {
    return PART / 4 * warp / WARPS;
}

// Four numbers of (…, n) at column `column`: zeros beyond n, or where the row is none.
__device__ __forceinline__ void copy_four(float *to, const float *row, unsigned column, unsigned n, bool is_row) {
    const bool inside = is_row && column < n;
    copy_async<16>(to, inside ? row + column : row, inside);
}

// The next terms of the sums. ALONG: W has its rows along the result's columns, PITCH apart; else COLUMNS of them side
// by side for each term.
template <bool ALONG>
__device__ __forceinline__ void add_terms(const float *factor, const float *w, unsigned four, sums_of_thread_t &sums) {
    const unsigned row = threadIdx.x % 32 / 4, column = threadIdx.x % 4;
    float4 a[8];
    float b[4][EACH];
#pragma unroll
    for (unsigned i = 0; i < 8; i++)
        a[i] = as_float4(factor + (row + 8 * i) * PITCH + 4 * four);
#pragma unroll
    for (unsigned j = 0; j < EACH; j++) {
        const unsigned at = column + 4 * j;
        const float4 v = ALONG ? as_float4(w + at * PITCH + 4 * four) : make_float4(0, 0, 0, 0);
#pragma unroll
        for (unsigned k = 0; k < 4; k++)
            b[k][j] = ALONG ? component(v, k) : w[(4 * four + k) * COLUMNS + at];
    }
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
#pragma unroll
        for (unsigned i = 0; i < 8; i++)
#pragma unroll
            for (unsigned j = 0; j < EACH; j++)
                sums[i][j] = fmaf(component(a[i], k), b[k][j], sums[i][j]);
}

// Adds the sums of all warps in the place of the factor, and leaves them at its beginning. All threads come.
__device__ __forceinline__ void add_warps(float *factor, const sums_of_thread_t &sums) {
    const unsigned row = threadIdx.x % 32 / 4, column = threadIdx.x % 4;
    float *own = factor + threadIdx.x / 32 * TILE;
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < 8; i++)
#pragma unroll
        for (unsigned j = 0; j < EACH; j++)
            own[(row + 8 * i) * COLUMNS + column + 4 * j] = sums[i][j];
    __syncthreads();
    float4 *all = (float4 *)factor;
    for (unsigned four = threadIdx.x; four < TILE / 4; four += THREADS) {
        float4 sum = all[four];
#pragma unroll
        for (unsigned warp = 1; warp < WARPS; warp++) {
            const float4 more = all[warp * (TILE / 4) + four];
            sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
        }
        all[four] = sum;
    }
}

// A four of the cluster's sums.
__device__ __forceinline__ float4 add_blocks(const float *factor, unsigned four) {
    const float4 *all = (const float4 *)factor + four;
    float4 sum = load_from_block(all, 0);
#pragma unroll
    for (unsigned rank = 1; rank < CLUSTER; rank++) {
        const float4 more = load_from_block(all, rank);
        sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
    }
    return sum;
}
