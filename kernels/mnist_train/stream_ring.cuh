// How rung 04 loads weights on GPUs with clusters: two warps copy tiles into a ring in shared memory, the others use
// them.
//
// A cluster of CLUSTER blocks owns a panel of W: PANEL rows forward, PANEL columns backward. It distributes the panel's
// chunks, each CHUNK long along the sum, over its blocks. A slot of the ring holds a chunk of W, copied by one warp
// (with dtype mixed, backward, also of the weights' second words), and SLABS chunks (BATCH, CHUNK) of activations or
// deltas, copied by the other: W is requested first. The copies themselves signal the slot's barrier.
#pragma once
#include "common/tensor_cores.cuh"

constexpr unsigned CHUNK = 64, PANEL = HIDDEN % 128 == 0 && HIDDEN >= 8192 ? 128 : 64, PANELS = HIDDEN / PANEL;

// Large layers: one block per multiprocessor, for an equal share of the memory bandwidth; clusters of two, which fit
// everywhere. Small ones: two blocks, so that the next stage's weights are loaded while this one runs.
constexpr bool ONE_BLOCK = HIDDEN >= 2048;
constexpr unsigned USERS = ONE_BLOCK ? 16 : 8, STREAM_THREADS = (USERS + 2) * 32;  // warps; two more copy
constexpr unsigned MOST_BLOCKS = 128, MOST_CLUSTER = ONE_BLOCK ? 2 : 4;

__host__ __device__ constexpr unsigned cluster_blocks() {
    unsigned blocks = 1;
    while (2 * blocks <= MOST_CLUSTER && 2 * blocks * PANELS <= MOST_BLOCKS)
        blocks *= 2;
    return blocks;
}
constexpr unsigned CLUSTER = cluster_blocks(), STREAM_BLOCKS = PANELS * CLUSTER;

// Warps: ACROSS of them side by side, 32 of the panel each, by STEPS along a chunk, 16 each; GROUPS such sets take
// turns with the chunks. SHARES sums of a panel remain: (BATCH, PANEL), rows four banks apart.
constexpr unsigned ACROSS = PANEL / 32, STEPS = CHUNK / 16, GROUP = ACROSS * STEPS, GROUPS = USERS / GROUP;
constexpr unsigned SHARES = USERS / ACROSS, SUMS_ROW = PANEL + 4, SUMS_SHARE = BATCH * SUMS_ROW * sizeof(float);
constexpr unsigned PART = PANEL / CLUSTER;  // of a panel, reduced by one block

constexpr unsigned TILE_BYTES = PANEL * CHUNK * sizeof(half), SLAB_BYTES = BATCH * CHUNK * sizeof(half);
constexpr unsigned RING_BYTES = (ONE_BLOCK ? 180 : 98) * 1024, MOST_SLOTS = RING_BYTES / (TILE_BYTES + SLAB_BYTES);
constexpr unsigned PANEL_BYTES = BATCH * PANEL * sizeof(half), EXCHANGE_BYTES = BATCH * PANEL * sizeof(float);
constexpr unsigned STREAM_SHARED = 128 + RING_BYTES + PANEL_BYTES + EXCHANGE_BYTES;
static_assert(SHARES * SUMS_SHARE <= RING_BYTES, "sums use the ring's memory");

// Two per slot, the panel's, and those of sets of warps that write lines together.
constexpr unsigned PANEL_BARRIER = 2 * MOST_SLOTS, FIRST_SET = PANEL_BARRIER + 1, SETS = USERS / 2;
typedef unsigned long long barriers_t[FIRST_SET + SETS];

constexpr unsigned UPDATED_TILES = DTYPE_MIXED ? 2 : 1;  // of weights in a slot, for an update

// Addresses in shared memory.
template <unsigned TILES, unsigned SLABS> struct ring_t {
    static constexpr unsigned SLOT_BYTES = TILES * TILE_BYTES + SLABS * SLAB_BYTES, SLOTS = RING_BYTES / SLOT_BYTES;
    unsigned slots, barriers;

    __device__ __forceinline__ unsigned tile(unsigned slot, unsigned which = 0) const {
        return slots + slot * SLOT_BYTES + which * TILE_BYTES;
    }
    __device__ __forceinline__ unsigned slab(unsigned slot, unsigned which = 0) const {
        return tile(slot, TILES) + which * SLAB_BYTES;
    }
    __device__ __forceinline__ unsigned full(unsigned slot) const { return barriers + slot * 8; }
    __device__ __forceinline__ unsigned empty(unsigned slot) const { return full(MOST_SLOTS + slot); }
    __device__ __forceinline__ unsigned panel_full() const { return barriers + PANEL_BARRIER * 8; }
    __device__ __forceinline__ unsigned set(unsigned i) const { return barriers + (FIRST_SET + i) * 8; }
    __device__ __forceinline__ unsigned panel() const { return slots + RING_BYTES; }
    __device__ __forceinline__ unsigned exchange() const { return panel() + PANEL_BYTES; }
};

// For layers larger than the L2: the same third of it stays from step to step; other lines are evicted first.
constexpr double KEPT_BYTES = 16e6, MATRICES_BYTES = 2.0 * HIDDEN * HIDDEN * sizeof(half);
constexpr bool KEEPS = MATRICES_BYTES > 2 * KEPT_BYTES;

#include "stream_ptx.cuh"
#include "stream_products.cuh"

__device__ __forceinline__ float4 load_sums(unsigned address) {
    const uint4 v = load_shared(address);
    return make_float4(__uint_as_float(v.x), __uint_as_float(v.y), __uint_as_float(v.z), __uint_as_float(v.w));
}

// By one warp: ROWS rows of ROW_HALVES halves, `columns` of them valid, STRIDE halves apart in memory.
template <unsigned ROWS, unsigned ROW_HALVES, unsigned STRIDE, bool KEPT = false>
__device__ __forceinline__ void copy_tile(unsigned to, const half *from, unsigned columns = ROW_HALVES) {
    constexpr unsigned VECTORS = ROW_HALVES / 8, AT_ONCE = 32 / VECTORS;
    const unsigned row = lane() / VECTORS, vector = lane() % VECTORS;
    const unsigned long long policy = keep_policy();
    const bool valid = STRIDE % ROW_HALVES == 0 || vector * 8 < columns;
    from += (size_t)row * STRIDE + vector * 8;
    to += swizzled<ROW_HALVES>(row, vector);
#pragma unroll
    for (unsigned i = 0; i < ROWS; i += AT_ONCE)
        copy_16<KEPT>((to ^ i % 8 * 16) + i * ROW_HALVES * sizeof(half), from + (size_t)i * STRIDE, valid, policy);
}
