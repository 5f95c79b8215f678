// Rung 05's products by tensor cores: ROWS rows times the weights of a cluster's COLUMNS neurons or, backward, inputs.
// Each block of the cluster has a quarter of the sum, each pair of its warps, with 32 rows each, a quarter of that, in
// turns of eight terms. The block reduces its warps' sums and sends each block of the cluster 16 rows, which that block
// reduces; the order is fixed.
#pragma once
#include "split_tf32.cuh"
#include "tiles.cuh"

constexpr unsigned ROWS = 64, WARPS = 8, THREADS = WARPS * 32, CLUSTER = 4, GROUPS_OF_TERMS = 4, DOWN = 2;
constexpr unsigned WARPS_OF_GROUP = WARPS / GROUPS_OF_TERMS;
static_assert(ROWS == 16 * CLUSTER && ROWS == 16 * DOWN * WARPS_OF_GROUP, "sixteen rows are one block's");
// 28 clusters of four fit every GPU of some hundred multiprocessors, whichever are disabled.
constexpr unsigned MOST_CLUSTERS = 28;
constexpr unsigned EACH = (WIDTH + 4 * MOST_CLUSTERS - 1) / (4 * MOST_CLUSTERS), COLUMNS = 4 * EACH;
constexpr unsigned CLUSTERS = (WIDTH + COLUMNS - 1) / COLUMNS, BLOCKS = CLUSTERS * CLUSTER;
constexpr unsigned COLUMN_EIGHTS = (COLUMNS + 7) / 8, SIXTEENS = (COLUMNS + 15) / 16; // tiles of products

// A block's part of a sum over n, a multiple of 8.
__host__ __device__ constexpr unsigned part_of(unsigned n) {
    return (n / 8 + CLUSTER - 1) / CLUSTER * 8;
}
constexpr unsigned PIXEL_PART = part_of(PIXELS), HIDDEN_PART = part_of(WIDTH);
constexpr unsigned LONGEST_PART = PIXEL_PART > HIDDEN_PART ? PIXEL_PART : HIDDEN_PART;
static_assert(LONGEST_PART <= 256, "a warp copies a row in two halves of up to 32 fours");

// Row pitches that avoid bank conflicts: neighbouring lanes read neighbouring columns of eight rows, or eight columns
// of four rows.
constexpr unsigned ALONG_PITCH = LONGEST_PART + 4;
__host__ __device__ constexpr unsigned across_pitch(unsigned columns) {
    return columns % 32 == 8 || columns % 32 == 24 ? columns : across_pitch(columns + 1);
}
constexpr unsigned INPUT_PITCH = across_pitch(LONGEST_PART), COLUMN_PITCH = across_pitch(16 * SIXTEENS);

constexpr unsigned SHARE = ROWS * COLUMNS / 4 / CLUSTER; // of a block, in fours
constexpr unsigned ALONG_FLOATS = 8 * COLUMN_EIGHTS * ALONG_PITCH, ACROSS_FLOATS = HIDDEN_PART * COLUMNS + 8;

struct block_t {
    float factor[ROWS * ALONG_PITCH];                                        // of a product
    float inputs[ROWS * INPUT_PITCH];                                        // of a layer, for its gradients
    float w[2][ALONG_FLOATS > ACROSS_FLOATS ? ALONG_FLOATS : ACROSS_FLOATS]; // of a product and of the next one
    float4 sums[2][CLUSTER][SHARE];    // of this block's rows, from all blocks of the cluster, by turns
    float deltas[ROWS * COLUMN_PITCH]; // of a layer's neurons, for its gradients
    float logits[CLASSES][WARPS];
    float bias[DEPTH - 1][COLUMNS];
    mbarrier_t arrived[2]; // the sums of either turn
};

__device__ __forceinline__ float4 load_four(const float *from) {
    return __ldcg((const float4 *)from);
}

typedef float sums_of_thread_t[DOWN][COLUMN_EIGHTS][4];

// The next eight terms. ALONG: rows of W are the result's columns; else its rows are terms.
template <bool ALONG>
__device__ __forceinline__ void add_terms(const float *factor, const float *w, unsigned term, sums_of_thread_t &sums) {
    const unsigned first_row = threadIdx.x / 32 % WARPS_OF_GROUP * DOWN * 16;
    factors_t<4> a[DOWN];
    factors_t<2> b[COLUMN_EIGHTS];
#pragma unroll
    for (unsigned i = 0; i < DOWN; i++)
        load_left(a[i], factor + (first_row + 16 * i) * ALONG_PITCH + term, ALONG_PITCH, 1);
#pragma unroll
    for (unsigned j = 0; j < COLUMN_EIGHTS; j++)
        if (ALONG)
            load_right(b[j], w + 8 * j * ALONG_PITCH + term, 1, ALONG_PITCH);
        else
            load_right(b[j], w + term * COLUMNS + 8 * j, COLUMNS, 1);
    add_products(sums, a, b);
}

// Reduces the groups' sums in the factor's buffer, and sends each block of the cluster its rows.
__device__ __forceinline__ void send_sums(block_t &block, unsigned rank, unsigned turn, const sums_of_thread_t &sums) {
    static_assert(GROUPS_OF_TERMS * ROWS * COLUMNS <= ROWS * ALONG_PITCH, "sums in the place of the factor");
    const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
    const unsigned first_row = warp / WARPS_OF_GROUP * ROWS + warp % WARPS_OF_GROUP * DOWN * 16 + g;
    float *own = block.factor + first_row * COLUMNS + 2 * t;
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < 2 * DOWN; i++)
#pragma unroll
        for (unsigned j = 0; j < COLUMN_EIGHTS; j++)
            if (8 * j + 2 * t < COLUMNS)
                *(float2 *)(own + 8 * i * COLUMNS + 8 * j) =
                    make_float2(sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]);
    __syncthreads();
    const float4 *all = (const float4 *)block.factor;
#pragma unroll 1
    for (unsigned four = threadIdx.x; four < CLUSTER * SHARE; four += THREADS) {
        float4 sum = all[four];
#pragma unroll
        for (unsigned group = 1; group < GROUPS_OF_TERMS; group++)
            sum = add(sum, all[group * CLUSTER * SHARE + four]);
        store_to_block(&block.sums[turn][rank][four % SHARE], &block.arrived[turn], four / SHARE, sum);
    }
}

// Four neighbours of this block's share.
__device__ __forceinline__ float4 add_blocks(const block_t &block, unsigned turn, unsigned four) {
    float4 sum = block.sums[turn][0][four];
#pragma unroll
    for (unsigned i = 1; i < CLUSTER; i++)
        sum = add(sum, block.sums[turn][i][four]);
    return sum;
}
