// Idea    Threads that multiply should do nothing else: one thread copies whole tiles with TMA, and barriers in shared
//         memory count the bytes.
// Change  From 03: a warp of its own copies; who multiplies waits for a stage to be full and says when it is free, and no
//         barrier of the block is left in the loop. The tile leaves by TMA, too. Tiles of (128, 128) where those of
//         (128, 256) are too few.
// Buys    On an H200, in one pass: m = 1024 45.5 us (03: 73.3), 4096 181 (302).
// Limits  While a block stores its tile, its tensor cores have nothing to do.
#ifndef __CUDA_ARCH_FEAT_SM90_ALL
#error SKIP: needs wgmma and TMA (sm_90a)
#endif
#define PARTS 1
#define COPIERS 32
#include "large_tiles.cuh"
#include "tma_ring.cuh"

LAUNCHES = {{"gemm", {TILES}, {THREADS}, {SHARED}}};

TMA_KERNEL(gemm, (THREADS, 1), MAP(of_a), MAP(of_b), MAP(of_y)) {
    ring_t ring(of_a, of_b);
    const place_t place(blockIdx.x);
    if (warp_number() >= MULTIPLIERS / 32) {
        if (is_copier())
            copy_tile(ring, place, 0, of_a, of_b);
    } else {
        sums_t sums;
        multiply_tile(sums, ring);
        store_sums(sums, ring, place, of_y);
        end_stores();
    }
}
