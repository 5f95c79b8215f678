// Idea    Hopper's own product instruction, wgmma: four warps together multiply (64, 256) by 16 straight from shared
//         memory, asynchronously, at the tensor cores' full rate.
// Change  Tiles of (128, 256), computed by two warpgroups of (64, 256), whose sums are 128 registers per thread.
//         Copies are rung 02's, into the layout that wgmma expects with 128-byte swizzle. While a step is multiplied,
//         the step two later is copied and the one before may still run: one barrier per step.
// Buys    A step is 2 million multiply-adds, 1024 clocks at the full rate, for 48 KB: 47 bytes per clock and
//         multiprocessor from the L2. No operand passes through registers.
// Limits  cp.async needs an instruction per 512 bytes and warp, of those that multiply, and each step has a barrier of the
//         block (rung 05). Tiles are (128, 256) only: few rows are rung 02's.
#ifndef __CUDA_ARCH_FEAT_SM90_ALL
#error SKIP: needs wgmma (sm_90a)
#endif
#if ((M + 127) / 128) * ((N + 255) / 256) < 96
#error SKIP: fewer than 96 tiles of (128, 256) leave multiprocessors without work
#endif
#define TILE_M 128
#define TILE_N 256
#define WARPS_M 8
#define WARPS_N 1
#define MOST_STAGES 4
#include "common/wgmma.cuh"
#include "ring.cuh"

LAUNCHES = {{"gemm", {TILES_M * TILES_N}, {THREADS}, {RING_SHARED}}};

// Adds the products of a step; they run after this returns.
__device__ __forceinline__ void start_products(sums_t &sums, unsigned stage) {
    const unsigned warpgroup = threadIdx.x / 128, b = stage + TILE_M * ROW_BYTES;
    begin_products();
#pragma unroll
    for (unsigned s = 0; s < TILE_K / 16; s++)
        multiply_64(sums.of[0], operand_at(stage + warpgroup * 64 * ROW_BYTES, s), operand_at(b, s), 1);
    end_products();
}

BOUNDED_KERNEL(gemm, THREADS) {
    unsigned char *memory = ring_memory();
    const unsigned ring = shared_address(memory);
    const place_t place;
    sums_t sums = {};
#pragma unroll
    for (unsigned step = 0; step < SLOTS - 2; step++)
        copy_step(a, b, place, step, ring);
#pragma unroll 1
    for (unsigned step = 0; step < STEPS; step++) {
        wait_for_copies<SLOTS - 3>();
        show_to_products();
        __syncthreads();  // this step is there, and the block has finished with the one two before
        start_products(sums, ring + step % SLOTS * STAGE_BYTES);
        copy_step(a, b, place, step + SLOTS - 2, ring);
        wait_for_products<1>();
    }
    wait_for_products<0>();
    __syncthreads();
    store_tile(sums, y, place, memory);
}
