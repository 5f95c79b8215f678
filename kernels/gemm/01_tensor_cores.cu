// Idea    Tensor cores: a block computes a tile (128, 128) of y, each of its eight warps (64, 32) with mma.sync. A
//         step of 64 along the sum goes through shared memory, so an element of a or b is loaded once per tile.
// Change  None: the start of the ladder. The next step's elements are loaded into registers while this step's are
//         multiplied.
// Buys    128 * 128 * 64 multiply-adds per 32 KB: 64 operations per byte from the L2.
// Limits  Two barriers per step, and between them stores to shared memory while no tensor core works. 16 rows fill an
//         eighth of a tile. Tiles of (128, 128): m = 128 with n = 4096 has 32 of them.
#define TILE_M 128
#define TILE_N 128
#define WARPS_M 2
#define WARPS_N 4
#include "tiles.cuh"

LAUNCHES = {{"gemm", {TILES_M * TILES_N}, {THREADS}}};

BOUNDED_KERNEL(gemm, THREADS) {
    __shared__ __align__(128) unsigned char shared[Y_BYTES > STAGE_BYTES ? Y_BYTES : STAGE_BYTES];
    const place_t place;
    uint4 next[(TILE_M + TILE_N) * CHUNKS / THREADS];
    sums_t sums = {};
    const auto load = [&](unsigned step) {
        for_chunks(a, b, place, step, [&](unsigned i, unsigned, const T *from, bool valid) {
            next[i] = valid ? __ldg(reinterpret_cast<const uint4 *>(from)) : make_uint4(0, 0, 0, 0);
        });
    };
    load(0);
#pragma unroll 1
    for (unsigned step = 0; step < STEPS; step++) {
        for_chunks(a, b, place, step, [&](unsigned i, unsigned at, const T *, bool) {
            *reinterpret_cast<uint4 *>(shared + at) = next[i];
        });
        __syncthreads();
        if (step + 1 < STEPS)
            load(step + 1);
        multiply(sums, shared_address(shared));
        __syncthreads();
    }
    store_tile(sums, y, place, shared);
}
