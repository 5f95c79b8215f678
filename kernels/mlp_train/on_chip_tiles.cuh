// Rungs 08 to 10: how a network is cut into tiles, and a block's products and gradients.
// A tile is what a block owns of a weight matrix: the NEURONS neurons of its cluster, and a CLUSTER-th of their terms.
// Forward tiles (W, neurons are outputs) serve y = W x; every layer but the first and the last also has backward tiles
// (W transposed, neurons are inputs), which serve dx = W^T dy. Both are updated alike, from the factor of their product
// and the neurons' own values. A piece of a tile, 16 neurons x 8 terms, is kept as the lanes hold a result, four numbers
// each, so a gradient is where it is needed. on_chip_mma.cuh and on_chip_lanes.cuh say which lane has which, and compute
// products and gradients.
// A warp has sixteen neurons and every GROUPS_OF_TERMS-th piece of their terms.
#pragma once
#include "../common/stamps.cuh"
#include "tiles.cuh"

#ifndef ON_LANES  // rung 10: 1
#define ON_LANES 0
#endif

// Preprocessor constants, because they decide whether a case is skipped.
#define SIXTEENS ((WIDTH + 223) / 224)                        // of neurons in a cluster: at most 14 clusters of 8
#define GROUPS_OF_TERMS (SIXTEENS > 2 ? 2 : 8 / SIXTEENS)     // warps that share a sum
#define PART_OF(n) (((n) + 63) / 64 * 8)                      // a block's terms of n, whole eights
#define LONGEST_PART (WIDTH > 784 ? PART_OF(WIDTH) : PART_OF(784))
#define PIECES (LONGEST_PART / 8)                             // of sixteen neurons, in the longest tile
#define PIECES_EACH ((PIECES + GROUPS_OF_TERMS - 1) / GROUPS_OF_TERMS)
#define TILES (2 * DEPTH - 3)                                 // DEPTH - 1 forward, DEPTH - 2 backward
#define TILE_BYTES (SIXTEENS * PIECES * 512)
// Rows in shared memory: neighbouring lanes read pairs of neighbouring columns of eight rows, or eight columns of four
// rows, so a row's length is 8 or 24 modulo 32; on 32-bit lanes fours of eight rows, so it is an odd multiple of 4.
#define PITCH_OF(n) (ON_LANES ? (n) / 8 * 8 + 4 : (n) / 16 * 16 + 8)
#define PITCH PITCH_OF(LONGEST_PART)
#define OWN_PITCH PITCH_OF(16 * SIXTEENS)
#define OWN_BYTES (256 * OWN_PITCH)
#define GIVEN_BYTES (4096 * SIXTEENS * (GROUPS_OF_TERMS - 1))
// Everything in shared memory but tiles: at least as much as block_t needs.
#define OTHER_BYTES \
    (512 * PITCH + 64 * (GROUPS_OF_TERMS - 1) + OWN_BYTES + (OWN_BYTES > GIVEN_BYTES ? OWN_BYTES : GIVEN_BYTES) + \
     8192 * SIXTEENS + 528 * PIECES + (DEPTH - 1) * 64 * SIXTEENS + 11264 + ON_LANES * 512 * SIXTEENS * GROUPS_OF_TERMS)
#define MOST_SHARED_TILES ((232448 - OTHER_BYTES) / TILE_BYTES)
#define SHARED_TILES (TILES < MOST_SHARED_TILES ? TILES : MOST_SHARED_TILES)
#define REGISTER_TILES (TILES - SHARED_TILES)

constexpr unsigned ROWS = 64, CLUSTER = 8, NEURONS = 16 * SIXTEENS, CLUSTERS = (WIDTH + NEURONS - 1) / NEURONS;
constexpr unsigned BLOCKS = CLUSTERS * CLUSTER, WARPS = SIXTEENS * GROUPS_OF_TERMS, THREADS = 32 * WARPS;
constexpr unsigned PIXEL_PART = PART_OF(PIXELS), HIDDEN_PART = PART_OF(WIDTH);
constexpr unsigned EIGHTS = ROWS / 8, FORWARD_TILES = DEPTH - 1;
static_assert(EIGHTS == CLUSTER, "a block finishes the sums of eight rows");
static_assert((ON_LANES ? PITCH % 8 == 4 : PITCH % 16 == 8) && PITCH >= LONGEST_PART && OWN_PITCH >= NEURONS, "no bank conflicts");
static_assert(EIGHTS % GROUPS_OF_TERMS == 0, "groups share eights of rows");

// The last layer's deltas, sixteen classes, and the row's loss in the next column.
constexpr unsigned CLASS_PITCH = 24, CLASS_FOURS = 5, LOSS_COLUMN = 16;

struct block_t {
    // By rows: the block's terms of a product. A gradient reads beyond the last row (update_tile).
    float factor[2][ROWS * PITCH + 8 * (GROUPS_OF_TERMS - 1)];
    float own_inputs[ROWS * OWN_PITCH];  // by rows: of the cluster's neurons
    union {                              // never needed at once
        float own_deltas[ROWS * OWN_PITCH];
        float4 given[SIXTEENS * EIGHTS * (GROUPS_OF_TERMS - 1)][32];  // sums, to another group of warps
    };
    float4 sums[2][CLUSTER][SIXTEENS * 32];  // of this block's eight rows, from all blocks of the cluster, by turns
    float4 logits[CLUSTER][32];              // the same of the last layer
    float deltas[ROWS * CLASS_PITCH];
    float prepared[EIGHTS * CLASS_PITCH];    // deltas of this block's rows, for all blocks of the cluster
    // Ten of sixteen neurons, terms of the last layer. Padded: load_classes() reads a place of eight pieces at once.
    float4 last_w[PIECES][33];
    float bias[DEPTH - 1][NEURONS], last_bias[16];
    mbarrier_t arrived[4];                   // of sums[0], sums[1], logits, deltas
#if ON_LANES
    float4 staged[WARPS][32];                // a piece from registers
#endif
    float4 w[SHARED_TILES][SIXTEENS][PIECES][32];
};
static_assert(sizeof(block_t) <= OTHER_BYTES + SHARED_TILES * TILE_BYTES, "the preprocessor's sum");

__device__ __forceinline__ float4 four_of(const float (&v)[4]) {
    return make_float4(v[0], v[1], v[2], v[3]);
}

__device__ __forceinline__ void set_four(float (&v)[4], float4 four) {
    v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
}

#if ON_LANES
#include "on_chip_lanes.cuh"
#else
#include "on_chip_mma.cuh"
#endif

// The tiles of a block: the first in shared memory, the others in registers.
struct tiles_t {
    typedef float tile_t[PIECES_EACH][4];  // of a warp

    block_t &block;
    const unsigned sixteen, group;
    tile_t in_registers[REGISTER_TILES > 0 ? REGISTER_TILES : 1];

    __device__ __forceinline__ explicit tiles_t(block_t &memory)
        : block(memory), sixteen(threadIdx.x / 32 % SIXTEENS), group(threadIdx.x / 32 / SIXTEENS) {}

#if ON_LANES
    // For lanes that need each other's numbers.
    __device__ __forceinline__ const float4 *in_shared_memory(unsigned tile, unsigned j) {
        if (tile < SHARED_TILES)
            return block.w[tile][sixteen][piece(j)];
        float4 *to = block.staged[threadIdx.x / 32];
        __syncwarp();
#pragma unroll
        for (int i = 0; i < REGISTER_TILES; i++)
#pragma unroll
            for (unsigned k = 0; k < PIECES_EACH; k++)
                if (tile == SHARED_TILES + i && j == k)
                    to[threadIdx.x % 32] = four_of(in_registers[i][k]);
        __syncwarp();
        return to;
    }
#endif

    // Calls use(number of the piece, the piece) for those of the warp's that are below `pieces`.
    template <class Use> __device__ __forceinline__ void each_piece(unsigned tile, unsigned pieces, Use use) {
#if ON_LANES
#pragma unroll 1
        for (unsigned j = 0; j < PIECES_EACH; j++)
            if (piece(j) < pieces)
                use(piece(j), in_shared_memory(tile, j));
#else
        tile_t w;
        load(tile, w);
#pragma unroll
        for (unsigned j = 0; j < PIECES_EACH; j++)
            if (piece(j) < pieces)
                use(piece(j), w[j]);
#endif
    }

    // The warp's pieces are group, group + GROUPS_OF_TERMS, ….
    __device__ __forceinline__ unsigned piece(unsigned j) const { return group + j * GROUPS_OF_TERMS; }

    __device__ __forceinline__ void load(unsigned tile, tile_t &to) const {
        if (tile < SHARED_TILES) {
#pragma unroll
            for (unsigned j = 0; j < PIECES_EACH; j++)
                if (piece(j) < PIECES)
                    set_four(to[j], block.w[tile][sixteen][piece(j)][threadIdx.x % 32]);
        }
#pragma unroll
        for (int i = 0; i < REGISTER_TILES; i++)
            if (tile == SHARED_TILES + i)
                copy(to, in_registers[i]);
    }

    __device__ __forceinline__ void store(unsigned tile, const tile_t &from) {
        if (tile < SHARED_TILES) {
#pragma unroll
            for (unsigned j = 0; j < PIECES_EACH; j++)
                if (piece(j) < PIECES)
                    block.w[tile][sixteen][piece(j)][threadIdx.x % 32] = four_of(from[j]);
        }
#pragma unroll
        for (int i = 0; i < REGISTER_TILES; i++)
            if (tile == SHARED_TILES + i)
                copy(in_registers[i], from);
    }

    __device__ __forceinline__ static void copy(tile_t &to, const tile_t &from) {
#pragma unroll
        for (unsigned j = 0; j < PIECES_EACH; j++)
#pragma unroll
            for (unsigned k = 0; k < 4; k++)
                to[j][k] = from[j][k];
    }
};
