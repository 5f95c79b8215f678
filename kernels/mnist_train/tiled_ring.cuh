// How rung 07 keeps and moves its data.
//
// Layers 1 and 2 are tiles of 64 x 64 weights, each 8 KB in one piece of device memory, in the order in which they lie
// in shared memory (swizzled()): a tile is one bulk copy, in and out. Activations and deltas are slabs of 32 images x
// 64 neurons, 4 KB, likewise. A cluster of CLUSTER blocks owns a panel of 64 neurons, forward, or of 64 inputs,
// backward, and deals its chunks to its ranks. A block's items are, in each step, its chunks of
//   FORWARD_1, FORWARD_2    a tile of W, a slab of activations
//   BACKWARD_2, BACKWARD_1  a tile of W, which is updated and written back, a slab of deltas
//   FIRST_LAYER             slabs of the images of this step and of the next; the tiles stay in shared memory
// Item n uses slot n % SLOTS of the ring. Three warps move items, the others, the users, compute. A slot becomes
//   full    when tile and slab are there: the loader's arrival, that of the slabs' warp, and their bytes
//   done    when the warps that share the tile are through with it
//   free    when the writer has stored what is to be stored
#pragma once
#include "common/tensor_cores.cuh"

constexpr unsigned CHUNK = 64, PANEL = 64, PANELS = HIDDEN / PANEL, PIXEL_CHUNKS = (PIXELS + CHUNK - 1) / CHUNK;
constexpr unsigned MOST_BLOCKS = 132, CLUSTER = 2 * PANELS <= MOST_BLOCKS ? 2 : 1, BLOCKS = PANELS * CLUSTER;
constexpr unsigned PART = PANEL / CLUSTER;  // of a panel, finished by one block

constexpr unsigned USERS = 16, USER_THREADS = USERS * 32, LOADER = USERS, SLABS = USERS + 1, WRITER = USERS + 2;
constexpr unsigned BLOCK_THREADS = (USERS + 3) * 32;
constexpr unsigned ACROSS = PANEL / 32, STEPS = CHUNK / 16, GROUP = ACROSS * STEPS, GROUPS = USERS / GROUP;
static_assert(GROUPS == 2, "two sets of warps take turns with the chunks");

constexpr unsigned TILE_BYTES = PANEL * CHUNK * sizeof(half), SLAB_BYTES = BATCH * CHUNK * sizeof(half);
constexpr unsigned SLOT_BYTES = TILE_BYTES + SLAB_BYTES, TILE_HALVES = PANEL * CHUNK, SLAB_HALVES = BATCH * CHUNK;
static_assert(2 * SLAB_BYTES <= TILE_BYTES, "an item of FIRST_LAYER");

constexpr unsigned ALIGNMENT = 128;       // so that rows of 128 bytes, swizzled, lie in different banks
constexpr unsigned SUMS_ROW = PANEL + 4;  // floats; four banks apart
constexpr unsigned SUMS = STEPS / 2, TURNS = STEPS / SUMS * GROUPS;  // warps take turns to add to so many
typedef float panel_sums_t[BATCH][SUMS_ROW];
typedef half part_rows_t[BATCH][PART + 8];

struct __align__(ALIGNMENT) kept_t {
    half first[(PIXEL_CHUNKS + CLUSTER - 1) / CLUSTER][TILE_HALVES];  // layer 0
    half panel[SLAB_HALVES];        // activations of the panel's inputs, of the layer that goes backward
    union {
        half first_delta[SLAB_HALVES];  // delta 0 of the panel
        part_rows_t own_delta;          // before: deltas 2 and 1 of this block's neurons
    };
    panel_sums_t sums[SUMS];
    float of_ranks[CLUSTER][CLUSTER > 1 ? BATCH : 1][PART];
    part_rows_t last_activations;
    half last_w[CLASSES][PART + 2], last_delta[BATCH][PADDED_CLASSES];
    half bias[LAYERS - 1][PART];
    float last_bias[PADDED_CLASSES], losses[BATCH];
    unsigned long long panel_here, sums_here, delta_here;
};
#ifndef SLOTS  // tests on a host choose fewer
constexpr unsigned SLOTS = (SHARED_LIMIT - sizeof(kept_t) - ALIGNMENT) / (SLOT_BYTES + 3 * 8);
#endif
static_assert(SLOTS >= 4, "a ring");
struct __align__(ALIGNMENT) shared_t {
    unsigned char slots[SLOTS][SLOT_BYTES];
    kept_t kept;
    unsigned long long full[SLOTS], done[SLOTS], free[SLOTS];
};
constexpr unsigned SHARED_BYTES = sizeof(shared_t) + ALIGNMENT;
static_assert(SHARED_BYTES <= SHARED_LIMIT, "shared memory of a block");

#include "persistent_ptx.cuh"
#include "stream_products.cuh"
#include "tiled_ptx.cuh"

enum item_kind { FORWARD_1, FORWARD_2, BACKWARD_2, BACKWARD_1, FIRST_LAYER, KINDS };

// Images of two steps, in slabs; logits of two steps, in units of 2^-32, which add up in any order to the same; whether
// a block's share of one was 2^23 or more, or no number: those of 132 blocks might not fit.
__device__ __align__(128) uint4 step_images[2][PIXEL_CHUNKS][SLAB_BYTES / 16];
__device__ __align__(128) unsigned long long logit_sums[2][BATCH][PADDED_CLASSES];
__device__ unsigned diverged;

struct place_t {
    unsigned panel, rank;

    __device__ __forceinline__ place_t() : panel(blockIdx.x / CLUSTER), rank(blockIdx.x % CLUSTER) {}
    __device__ __forceinline__ unsigned chunks(unsigned kind) const {
        return ((kind == FIRST_LAYER ? PIXEL_CHUNKS : PANELS) - rank + CLUSTER - 1) / CLUSTER;
    }
    // Each panel begins elsewhere: blocks read the same slabs, but not at the same time.
    __device__ __forceinline__ unsigned chunk(unsigned kind, unsigned i) const {
        return rank + (i + panel) % chunks(kind) * CLUSTER;
    }
};

// Tile (row, column) of layer 1 or 2.
__device__ __forceinline__ half *tile_of(const mnist_t &p, unsigned layer, unsigned row, unsigned column) {
    half *const tiles = reinterpret_cast<half *>(p.scratch) + (layer - 1) * (size_t)HIDDEN * HIDDEN;
    return tiles + ((size_t)row * PANELS + column) * TILE_HALVES;
}
__device__ __forceinline__ half *tile_of_item(const mnist_t &p, unsigned kind, const place_t &place, unsigned i) {
    const unsigned layer = kind == FORWARD_1 || kind == BACKWARD_1 ? 1 : 2, chunk = place.chunk(kind, i);
    return kind <= FORWARD_2 ? tile_of(p, layer, place.panel, chunk) : tile_of(p, layer, chunk, place.panel);
}
// Of a matrix (BATCH, HIDDEN).
__device__ __forceinline__ half *slab_of(half *matrix, unsigned chunk) {
    return matrix + chunk * SLAB_HALVES;
}
__device__ __forceinline__ half *slabs_of_kind(const mnist_t &p, unsigned kind) {
    return kind == FORWARD_1 ? p.a[1] : kind == FORWARD_2 ? p.a[2] : kind == BACKWARD_2 ? p.delta[2] : p.delta[1];
}

// Counts of all blocks: stages whose activations or deltas are written; matrices that are updated and written, two in a
// step; blocks that have gathered images. No block can be a count ahead of one that still has to wait for it.
__device__ __forceinline__ unsigned *stages_ended(const mnist_t &p) {
    return p.counters + 16;
}
__device__ __forceinline__ unsigned *weights_written(const mnist_t &p) {
    return p.counters + 48;
}
constexpr unsigned GATHERERS = BATCH < BLOCKS ? BATCH : BLOCKS;
__device__ __forceinline__ unsigned *images_gathered(const mnist_t &p) {
    return p.counters + 56;
}
// Stages before a step: the start, the first layer, and five of each step. In a step: FORWARD_1, FORWARD_2, delta 2,
// BACKWARD_2, FIRST_LAYER; between BACKWARD_1 and FIRST_LAYER a cluster is enough.
__device__ __forceinline__ unsigned stages_before(unsigned step) {
    return (2 + 5 * step) * BLOCKS;
}

// A block's items, one after the other.
struct items_t {
    unsigned slots, barriers, n = 0;

    __device__ __forceinline__ explicit items_t(shared_t &shared)
        : slots(shared_address(shared.slots)), barriers(shared_address(shared.full)) {}
    __device__ __forceinline__ unsigned slot() const { return n % SLOTS; }
    __device__ __forceinline__ unsigned parity() const { return n / SLOTS % 2; }
    __device__ __forceinline__ unsigned tile() const { return slots + slot() * SLOT_BYTES; }
    __device__ __forceinline__ unsigned slab() const { return tile() + TILE_BYTES; }
    __device__ __forceinline__ unsigned full() const { return barriers + slot() * 8; }
    __device__ __forceinline__ unsigned done() const { return full() + SLOTS * 8; }
    __device__ __forceinline__ unsigned free() const { return done() + SLOTS * 8; }
    // Sets of warps take turns, so the slot's item before may be another set's, and full() still that item's.
    __device__ __forceinline__ void wait_until_done_before() const {
        if (n >= SLOTS)
            barrier_wait(done(), (n / SLOTS - 1) % 2);
    }
    // Before the slot is filled again.
    __device__ __forceinline__ void wait_until_free() const {
        if (n >= SLOTS)
            barrier_wait(free(), (n / SLOTS - 1) % 2);
    }
};
