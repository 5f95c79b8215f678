// A tile of y whose operands come by TMA: one warp copies steps of TILE_K along the sum into a ring of stages, warpgroups
// of 64 rows multiply them, and a barrier on each side says which stage is full and which is free. The rung defines
//   TILE_M, TILE_N   the tile: one or two warpgroups, 64, 128 or 256 columns
//   PARTS            blocks of a cluster that divide the sum of a tile (1: no cluster)
//   COPIERS          threads beside those that multiply, of which one copies: 32, or 128 to give away their registers
//   SHARERS          blocks of a cluster, one tile below the other, that share what they load of b (if not defined: 1)
// Copies outside of a and b are zeros, and nothing outside of y is stored: no tile needs to fit.
#pragma once
#include "common/workload.cuh"
#include "common/tensor_cores.cuh"
#include "common/tma.cuh"
#include "common/wgmma.cuh"
#if K % 8 != 0 || N % 8 != 0
#error SKIP: needs k and n that are multiples of 8 (rows of 16 bytes)
#endif

#ifndef SHARERS
#define SHARERS 1
#endif

constexpr unsigned TILE_K = 64, ROW_BYTES = 128; // of a and b in shared memory, swizzled
constexpr unsigned WARPGROUPS = TILE_M / 64, MULTIPLIERS = WARPGROUPS * 128, THREADS = MULTIPLIERS + COPIERS;
constexpr unsigned TILES_M = (M + TILE_M * SHARERS - 1) / (TILE_M * SHARERS), TILES_N = (N + TILE_N - 1) / TILE_N;
constexpr unsigned TILES = TILES_M * TILES_N; // of a cluster's blocks together
constexpr unsigned STEPS = ((K + TILE_K - 1) / TILE_K + PARTS - 1) / PARTS; // of a block
constexpr unsigned A_ROWS = M < TILE_M ? (M + 7) / 8 * 8 : TILE_M;          // what is copied; others are not stored
constexpr unsigned COPY_BYTES = (A_ROWS + TILE_N) * ROW_BYTES, A_BYTES = TILE_M * ROW_BYTES;
constexpr unsigned STAGE_BYTES = A_BYTES + TILE_N * ROW_BYTES;

// Behind the ring: sums that the other parts send, or two buffers of 64 rows by 64 columns of y for each warpgroup.
constexpr unsigned PART_N = TILE_N / PARTS, PART_BYTES = TILE_M * PART_N * sizeof(float);
constexpr unsigned BUFFERS = 2, BUFFER_BYTES = 64 * ROW_BYTES;
constexpr unsigned OUT_BYTES = PARTS > 1 ? (PARTS - 1) * PART_BYTES : WARPGROUPS * BUFFERS * BUFFER_BYTES;
constexpr unsigned BARRIER_BYTES = 256, ALIGNMENT = 1024;
constexpr unsigned ROOM = (SHARED_LIMIT - ALIGNMENT - BARRIER_BYTES - OUT_BYTES) / STAGE_BYTES;
constexpr unsigned SLOTS = ROOM < 15 ? ROOM : 15, RING_BYTES = SLOTS * STAGE_BYTES;
constexpr unsigned SHARED = RING_BYTES + OUT_BYTES + BARRIER_BYTES + ALIGNMENT;
static_assert(PARTS * PART_BYTES <= RING_BYTES, "sums of all parts, where the ring was");
static_assert((2 * SLOTS + 1) * 8 <= BARRIER_BYTES, "barriers of all stages, and one of the sums");

TENSOR_MAPS = {{"a", {K, M}, {TILE_K, A_ROWS}, SWIZZLE_128, L2_256},
               {"b", {K, N}, {TILE_K, TILE_N / SHARERS}, SWIZZLE_128, L2_256},
               {"y", {N, M}, {64, 64}, SWIZZLE_128}};

// ---- where -----------------------------------------------------------------------------------------

// The first row and column of a tile. Those that are computed at the same time share rows of a and b in the L2: 16 tiles
// downwards, then the next column.
struct place_t {
    int m, n;

    __device__ __forceinline__ explicit place_t(unsigned tile) {
        constexpr unsigned DOWN = 16;
        const unsigned group = tile / (DOWN * TILES_N), in_group = tile % (DOWN * TILES_N);
        const unsigned down = min(TILES_M - group * DOWN, DOWN);
        m = (group * DOWN + in_group % down) * TILE_M * SHARERS;
#if SHARERS > 1
        m += block_in_cluster() * TILE_M;
#endif
        n = in_group / down * TILE_N;
    }
};

struct ring_t {
    unsigned char *memory; // at a multiple of 1024
    unsigned address, slot, phase;

    // By all threads of the block.
    __device__ __forceinline__ ring_t(const tensor_map_t &of_a, const tensor_map_t &of_b) : slot(0), phase(0) {
        extern __shared__ unsigned char dynamic_shared[];
        memory = dynamic_shared + (0u - shared_address(dynamic_shared)) % ALIGNMENT;
        address = shared_address(memory);
        if (threadIdx.x == 0) {
            for (unsigned i = 0; i < SLOTS; i++) {
                barrier_init(full(i));
                barrier_init(free(i), WARPGROUPS * SHARERS);
            }
            barrier_init(sums_are_there());
            show_to_tma();
        } else if (threadIdx.x == MULTIPLIERS) {
            prefetch_map(of_a);
            prefetch_map(of_b);
        }
        __syncthreads();
    }
    __device__ __forceinline__ unsigned stage() const { return address + slot * STAGE_BYTES; }
    __device__ __forceinline__ unsigned out() const { return address + RING_BYTES; }
    __device__ __forceinline__ unsigned full(unsigned i) const { return out() + OUT_BYTES + i * 8; }
    __device__ __forceinline__ unsigned free(unsigned i) const { return full(SLOTS + i); }
    __device__ __forceinline__ unsigned sums_are_there() const { return full(2 * SLOTS); }
    __device__ __forceinline__ void next() {
        if (++slot == SLOTS)
            slot = 0, phase ^= 1;
    }
};

// ---- by the thread that copies ------------------------------------------------------------------------

__device__ __forceinline__ bool is_copier() {
    return warp_number() == MULTIPLIERS / 32 && is_elected();
}

// The steps of one of the parts.
__device__ __forceinline__ void copy_tile(ring_t &ring, const place_t &place, unsigned part, const tensor_map_t &of_a,
                                          const tensor_map_t &of_b) {
#pragma unroll 1
    for (unsigned step = 0; step < STEPS; step++, ring.next()) {
        const int k = (part * STEPS + step) * TILE_K;
        barrier_wait(ring.free(ring.slot), ring.phase ^ 1);
        barrier_expect(ring.full(ring.slot), COPY_BYTES);
        load_tile(ring.stage(), of_a, ring.full(ring.slot), k, place.m);
#if SHARERS > 1
        const unsigned first = block_in_cluster() * (TILE_N / SHARERS);
        load_tile_to((1 << SHARERS) - 1, ring.stage() + A_BYTES + first * ROW_BYTES, of_b, ring.full(ring.slot), k,
                     place.n + first);
#else
        load_tile(ring.stage() + A_BYTES, of_b, ring.full(ring.slot), k, place.n);
#endif
    }
}

// ---- by the warpgroups --------------------------------------------------------------------------------

// Of a warpgroup's 64 rows.
struct sums_t {
    float of[TILE_N / 8][4];
};

__device__ __forceinline__ unsigned warpgroup_number() {
    return WARPGROUPS == 1 ? 0 : warp_number() / 4;
}
__device__ __forceinline__ bool is_first_of_warpgroup() {
    return threadIdx.x % 128 == 0;
}

// Says that this warpgroup has finished with a stage, to all blocks that load into it.
__device__ __forceinline__ void release(const ring_t &ring, unsigned slot) {
#if SHARERS > 1
    if (threadIdx.x % 128 < SHARERS)
        barrier_arrive_in(address_in(threadIdx.x % 128, ring.free(slot)));
#else
    if (is_first_of_warpgroup())
        barrier_arrive(ring.free(slot));
#endif
}

// The products of a step run while the next one is waited for; then its stage is free.
__device__ __forceinline__ void multiply_tile(sums_t &sums, ring_t &ring) {
    const unsigned rows = warpgroup_number() * 64 * ROW_BYTES;
    unsigned before = 0;
#pragma unroll 1
    for (unsigned step = 0; step < STEPS; step++, ring.next()) {
        barrier_wait(ring.full(ring.slot), ring.phase);
        begin_products();
#pragma unroll
        for (unsigned s = 0; s < TILE_K / 16; s++)
            multiply_64(sums.of, operand_at(ring.stage() + rows, s), operand_at(ring.stage() + A_BYTES, s),
                        (step | s) != 0);
        end_products();
        wait_for_products<1>();
        if (step > 0)
            release(ring, before);
        before = ring.slot;
    }
    wait_for_products<0>();
    release(ring, before);
}

__device__ __forceinline__ unsigned pair_of(float x, float y) {
#if WORKLOAD_BF16
    const __nv_bfloat162 pair = __floats2bfloat162_rn(x, y);
#else
    const half2 pair = __floats2half2_rn(x, y);
#endif
    return *reinterpret_cast<const unsigned *>(&pair);
}

// 64 columns at a time by TMA, which reads one buffer while the warpgroup fills the other.
__device__ __forceinline__ void store_sums(const sums_t &sums, const ring_t &ring, const place_t &place,
                                           const tensor_map_t &of_y) {
    const unsigned warpgroup = warpgroup_number(), lane = threadIdx.x % 32;
    const unsigned row = threadIdx.x % 128 / 32 * 16 + lane % 16; // whose address this lane gives to stmatrix
#pragma unroll
    for (unsigned c = 0; c < TILE_N / 64; c++) {
        const unsigned buffer = ring.out() + (warpgroup * BUFFERS + c % BUFFERS) * BUFFER_BYTES;
        if (is_first_of_warpgroup())
            wait_for_stores<BUFFERS - 1>();
        sync_threads(1 + warpgroup, 128);
#pragma unroll
        for (unsigned q = 0; q < 4; q++) {
            const float *left = sums.of[c * 8 + q * 2], *right = sums.of[c * 8 + q * 2 + 1];
            store_matrices<false>(buffer + row * ROW_BYTES + (q * 2 + lane / 16 ^ row % 8) * 16,
                                  {pair_of(left[0], left[1]), pair_of(left[2], left[3]), pair_of(right[0], right[1]),
                                   pair_of(right[2], right[3])});
        }
        show_to_tma();
        sync_threads(1 + warpgroup, 128);
        if (is_first_of_warpgroup()) {
            store_tile(of_y, buffer, place.n + c * 64, place.m + warpgroup * 64);
            end_store_group();
        }
    }
}
// Before the block ends.
__device__ __forceinline__ void end_stores() {
    if (is_first_of_warpgroup())
        wait_for_stores<0>();
}
