// Forward and input gradient: few rows (the batch) times a matrix of weights. A tile of TILE_ROWS x TILE_COLUMNS is
// made by SPLIT blocks, a cluster, each for its part of the sum; in a block by GROUPS groups of threads, of which each
// takes every GROUPS-th four of it. A thread has ROWS_EACH x COLUMNS_EACH sums in registers. Partial sums are added in
// a fixed order, through shared memory, the block's first, then the cluster's.
#pragma once
#include "tiles.cuh"

constexpr bool TENSOR_CORES = DTYPE_TF32;
constexpr unsigned FEWEST_ROWS = TENSOR_CORES ? 2 : 1;
constexpr unsigned ROW_THREADS = 8, ROWS_EACH = BATCH > 32 ? 8 : BATCH > 16 ? 4 : BATCH > 8 ? 2 : FEWEST_ROWS;
constexpr unsigned TILE_ROWS = ROW_THREADS * ROWS_EACH;
// 784 = 28 * 28.
constexpr unsigned COLUMNS_EACH = !TENSOR_CORES && WIDTH % 28 == 0 && WIDTH < 1024 ? 7 : 8;
constexpr unsigned COLUMN_THREADS = WIDTH >= 1024 && HAS_ASYNC_COPIES ? 8 : 4;
constexpr unsigned TILE_COLUMNS = COLUMN_THREADS * COLUMNS_EACH;
// Two warps a scheduler where a thread has work enough between the sums.
constexpr unsigned WIDE_GROUPS = HAS_ASYNC_COPIES && !TENSOR_CORES && WIDTH >= 512 && COLUMN_THREADS == 4 ? 8 : 4;
constexpr unsigned GROUP = ROW_THREADS * COLUMN_THREADS, GROUPS = WIDE_GROUPS, WIDE_THREADS = GROUPS * GROUP;
static_assert(GROUP % 32 == 0, "the threads of a group are warps: they go different ways");

// As many blocks as an H200 has multiprocessors, or fewer. 8 is the largest cluster that every GPU with them takes.
constexpr unsigned MULTIPROCESSORS = 132, MOST_SPLIT = 8;
constexpr unsigned TILES_OF_BATCH =
    ((WIDTH + TILE_COLUMNS - 1) / TILE_COLUMNS) * ((BATCH + TILE_ROWS - 1) / TILE_ROWS);
__host__ __device__ constexpr unsigned split_of(unsigned split) {
    return split > 1 && TILES_OF_BATCH * split > MULTIPROCESSORS ? split_of(split / 2) : split;
}
constexpr unsigned SPLIT = HAS_CLUSTERS ? split_of(MOST_SPLIT) : 1;

// The ring: on its way is what a block of width 784 needs in all, where shared memory allows it (100 KB a block).
constexpr bool LARGE_SHARED = __CUDA_ARCH__ == 800 || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200);
constexpr unsigned CHUNK = HAS_ASYNC_COPIES ? 64 : 32, FOURS = CHUNK / 4;
constexpr unsigned STAGES_OF_RING = !LARGE_SHARED ? 2 : COLUMN_THREADS == 4 ? 4 : 3;
constexpr unsigned PAD = 4;  // neighbouring rows begin in other banks
constexpr unsigned A_FLOATS = TILE_ROWS * (CHUNK + PAD);
constexpr unsigned ACROSS_ROW = TILE_COLUMNS + (TENSOR_CORES ? 8 : 0);
constexpr unsigned B_FLOATS_ALONG = TILE_COLUMNS * (CHUNK + PAD), B_FLOATS_ACROSS = CHUNK * ACROSS_ROW;
constexpr unsigned B_FLOATS = B_FLOATS_ALONG > B_FLOATS_ACROSS ? B_FLOATS_ALONG : B_FLOATS_ACROSS;  // one ring for both
constexpr unsigned SLOT = A_FLOATS + B_FLOATS, RING_FLOATS = STAGES_OF_RING * SLOT;
constexpr unsigned TILE_FLOATS = TILE_ROWS * TILE_COLUMNS, PARTIAL_FLOATS = GROUPS * TILE_FLOATS;
constexpr unsigned WIDE_SHARED = sizeof(float) * (RING_FLOATS > PARTIAL_FLOATS ? RING_FLOATS : PARTIAL_FLOATS);
static_assert(TILE_FLOATS % (4 * SPLIT) == 0, "blocks of a cluster share the tile's fours");

#if __CUDA_ARCH__ >= 900
#define WIDE_KERNEL(name) \
    extern "C" __global__ void __cluster_dims__(SPLIT, 1, 1) __launch_bounds__(WIDE_THREADS, 1) \
        name(const __grid_constant__ op_t p)
#else
#define WIDE_KERNEL(name) OPERATOR(name, WIDE_THREADS)
#endif
#define WIDE_STAGE(name, when, flags) \
    {name, when, flags, WIDE_THREADS, 1, 0, 0, WIDE_SHARED, TILE_ROWS, TILE_COLUMNS, SPLIT}

typedef float sums_t[ROWS_EACH][COLUMNS_EACH];

// What a block multiplies: A (rows, n) and B, whose sum goes over fours first_four … first_four + fours - 1 of n.
struct wide_t {
    part_t a, b;
    unsigned n, first_four, fours;
};

__device__ __forceinline__ void copy_a(float *slot, const wide_t &wide, unsigned chunk) {
    part_t part = wide.a;
    part.column = 4 * wide.first_four + chunk * CHUNK;
    part.columns = min(wide.n, 4 * (wide.first_four + wide.fours));
    copy_tile<TILE_ROWS, CHUNK, CHUNK + PAD, WIDE_THREADS, WORDS>(slot, part);
}

// ALONG: rows of B are the result's columns, the sum goes along them (forward); else B's rows are what is summed over.
template <bool ALONG> __device__ __forceinline__ void copy_b(float *slot, const wide_t &wide, unsigned chunk) {
    const unsigned from = 4 * wide.first_four + chunk * CHUNK, to = min(wide.n, 4 * (wide.first_four + wide.fours));
    part_t part = wide.b;
    if constexpr (ALONG) {
        part.column = from, part.columns = to;
        copy_tile<TILE_COLUMNS, CHUNK, CHUNK + PAD, WIDE_THREADS, WORDS>(slot + A_FLOATS, part);
    } else {
        part.row = from, part.rows = to;
        copy_tile<CHUNK, TILE_COLUMNS, ACROSS_ROW, WIDE_THREADS, WORDS>(slot + A_FLOATS, part);
    }
}

#if DTYPE_TF32
#include "tf32_sums.cuh"
#else
// The sums' next four terms.
template <bool ALONG> __device__ __forceinline__ void add_four(const float *slot, unsigned four, sums_t &sums) {
    const unsigned lane = threadIdx.x % GROUP, row = lane / COLUMN_THREADS, column = lane % COLUMN_THREADS;
    const float *b_tile = slot + A_FLOATS;
    float4 a[ROWS_EACH];
    float b[4][COLUMNS_EACH];
#pragma unroll
    for (unsigned i = 0; i < ROWS_EACH; i++)
        a[i] = as_float4(slot + (row + ROW_THREADS * i) * (CHUNK + PAD) + 4 * four);
#pragma unroll
    for (unsigned j = 0; j < COLUMNS_EACH; j++) {
        const unsigned at = column + COLUMN_THREADS * j;
        const float4 v = ALONG ? as_float4(b_tile + at * (CHUNK + PAD) + 4 * four) : make_float4(0, 0, 0, 0);
#pragma unroll
        for (unsigned k = 0; k < 4; k++)
            b[k][j] = ALONG ? component(v, k) : b_tile[(4 * four + k) * ACROSS_ROW + at];
    }
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
#pragma unroll
        for (unsigned i = 0; i < ROWS_EACH; i++)
#pragma unroll
            for (unsigned j = 0; j < COLUMNS_EACH; j++)
                sums[i][j] = fmaf(component(a[i], k), b[k][j], sums[i][j]);
}

template <bool ALONG> __device__ __forceinline__ void add_chunk(const float *slot, unsigned fours, sums_t &sums) {
    const unsigned group = threadIdx.x / GROUP;
    if (fours >= FOURS) {
#pragma unroll
        for (unsigned four = 0; four < FOURS; four += GROUPS)
            add_four<ALONG>(slot, four + group, sums);
    } else {
#pragma unroll 1
        for (unsigned four = group; four < fours; four += GROUPS)
            add_four<ALONG>(slot, four, sums);
    }
}

// This thread's sums, to where they belong in the tile.
__device__ __forceinline__ void put_sums(float *tile, const sums_t &sums) {
    const unsigned lane = threadIdx.x % GROUP, row = lane / COLUMN_THREADS, column = lane % COLUMN_THREADS;
#pragma unroll
    for (unsigned i = 0; i < ROWS_EACH; i++)
#pragma unroll
        for (unsigned j = 0; j < COLUMNS_EACH; j++)
            tile[(row + ROW_THREADS * i) * TILE_COLUMNS + column + COLUMN_THREADS * j] = sums[i][j];
}
#endif

// This thread's sums over the block's part. The ring is free behind it.
template <bool ALONG>
__device__ __forceinline__ void add_up(float *ring, const wide_t &wide, bool weights_change, sums_t &sums) {
    const unsigned chunks = (wide.fours + FOURS - 1) / FOURS;
    // What no kernel in front changes comes before the wait for them: the weights, or, in the first layer, the images.
    for (unsigned chunk = 0; chunk < min(chunks, STAGES_OF_RING); chunk++)
        weights_change ? copy_a(ring + chunk * SLOT, wide, chunk) : copy_b<ALONG>(ring + chunk * SLOT, wide, chunk);
    wait_for_earlier_kernels();
#pragma unroll
    for (unsigned chunk = 0; chunk < STAGES_OF_RING; chunk++) {
        if (chunk < chunks)
            weights_change ? copy_b<ALONG>(ring + chunk * SLOT, wide, chunk) : copy_a(ring + chunk * SLOT, wide, chunk);
        end_copy_group();
    }
    for (unsigned chunk = 0; chunk < chunks; chunk++) {
        float *slot = ring + chunk % STAGES_OF_RING * SLOT;
        wait_for_copies<STAGES_OF_RING - 1>();
        __syncthreads();
        add_chunk<ALONG>(slot, wide.fours - chunk * FOURS, sums);
        if (chunk + STAGES_OF_RING < chunks) {
            __syncthreads();
            copy_a(slot, wide, chunk + STAGES_OF_RING);
            copy_b<ALONG>(slot, wide, chunk + STAGES_OF_RING);
        }
        end_copy_group();
    }
    __syncthreads();
}

// Adds all threads' sums; calls store(row, column, four results) for this block's part of the tile.
template <class Store> __device__ __forceinline__ void gather_sums(float *partial, const sums_t &sums, Store store) {
    put_sums(partial + threadIdx.x / GROUP * TILE_FLOATS, sums);
    __syncthreads();
    float4 *all = (float4 *)partial;
    for (unsigned four = threadIdx.x; four < TILE_FLOATS / 4; four += WIDE_THREADS) {
        float4 sum = all[four];
#pragma unroll
        for (unsigned g = 1; g < GROUPS; g++) {
            const float4 more = all[g * (TILE_FLOATS / 4) + four];
            sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
        }
        all[four] = sum;
    }
    unsigned first = 0;
#if __CUDA_ARCH__ >= 900
    if (SPLIT > 1) {
        cluster_barrier();
        first = block_of_cluster() * (TILE_FLOATS / 4 / SPLIT);
    }
#endif
    for (unsigned i = threadIdx.x; i < TILE_FLOATS / 4 / SPLIT; i += WIDE_THREADS) {
        const unsigned four = first + i;
        float4 sum = all[four];
#if __CUDA_ARCH__ >= 900
        if (SPLIT > 1) {
            sum = load_from_block(all + four, 0);
#pragma unroll
            for (unsigned block = 1; block < SPLIT; block++) {
                const float4 more = load_from_block(all + four, block);
                sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
            }
        }
#endif
        store(four / (TILE_COLUMNS / 4), four % (TILE_COLUMNS / 4) * 4, sum);
    }
#if __CUDA_ARCH__ >= 900
    if (SPLIT > 1)
        cluster_barrier();  // others read here as long as they are not done
#endif
}

// The result's tile and the part of the sum over n that are this block's.
__device__ __forceinline__ tile_t begin_wide(wide_t &wide, unsigned n, unsigned columns) {
    const unsigned part = blockIdx.x % SPLIT, fours = (n + 3) / 4;
    const tile_t tile = tile_of(blockIdx.x / SPLIT, TILE_ROWS, TILE_COLUMNS, columns);
    wide.n = n;
    wide.first_four = fours * part / SPLIT;
    wide.fours = fours * (part + 1) / SPLIT - wide.first_four;
    return tile;
}
