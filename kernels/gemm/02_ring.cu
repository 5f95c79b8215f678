// Idea    Keep the tensor cores busy: copies to shared memory run asynchronously, several steps ahead.
// Change  cp.async into a ring of stages, without registers in between; one barrier per step. Tiles by size: (128,
//         256) with warps of (64, 64); (64, 64) if there are fewer than 96 of those; (32, 32) up to 32 rows, with a
//         deep ring.
// Buys    A warp's (64, 64) reads 4 KB of shared memory per 65,536 multiply-adds, 32 clocks at 128 bytes each. At the
//         rate of mma.sync, on Hopper some 60 % of wgmma's, they take 50. m = 16: 33.6 MB of b at up to 48 KB in
//         flight per multiprocessor; 8 us at 4.3 TB/s, less where b is in the L2.
// Limits  mma.sync: on sm_90 only wgmma reaches the tensor cores' full rate (rung 03). From sm_80 to sm_89 it has the
//         full rate, but sm_86 and sm_89 have room for two stages of (128, 256) only.
#if __CUDA_ARCH__ < 800
#error SKIP: needs asynchronous copies (sm_80)
#endif
#if M <= 32
#define TILE_M 32
#define TILE_N 32
#define WARPS_M 2
#define WARPS_N 2
#elif ((M + 127) / 128) * ((N + 255) / 256) < 96
#define TILE_M 64
#define TILE_N 64
#define WARPS_M 2
#define WARPS_N 2
#else
#define TILE_M 128
#define TILE_N 256
#define WARPS_M 2
#define WARPS_N 4
#endif
#define MOST_STAGES (TILE_M == 32 ? 12 : TILE_M == 64 ? 6 : 4)
#include "ring.cuh"

LAUNCHES = {{"gemm", {TILES_M * TILES_N}, {THREADS}, {RING_SHARED}}};

BOUNDED_KERNEL(gemm, THREADS) {
    unsigned char *memory = ring_memory();
    const unsigned ring = shared_address(memory);
    const place_t place;
    sums_t sums = {};
#pragma unroll
    for (unsigned step = 0; step < SLOTS - 1; step++)
        copy_step(a, b, place, step, ring);
#pragma unroll 1
    for (unsigned step = 0; step < STEPS; step++) {
        wait_for_copies<SLOTS - 2>();
        __syncthreads();  // this step is there, and the block has finished with the one before
        copy_step(a, b, place, step + SLOTS - 1, ring);
        multiply(sums, ring + step % SLOTS * STAGE_BYTES);
    }
    __syncthreads();
    store_tile(sums, y, place, memory);
}
