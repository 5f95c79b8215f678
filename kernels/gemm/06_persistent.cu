// Idea    Keep the ring running from one tile to the next.
// Change  From 05: as many blocks as multiprocessors, each with one tile after another. The warp that copies goes on to the
//         next tile while the last one is multiplied and stored.
// Buys    m = 4096: 177.0 us (05: 181.5), in one pass on an H200. Nothing with one tile per block: 1024 45.5.
// Limits  Nine warps are three on one of the four schedulers, so that no thread has more than 168 registers.
#ifndef __CUDA_ARCH_FEAT_SM90_ALL
#error SKIP: needs wgmma and TMA (sm_90a)
#endif
#define PARTS 1
#define COPIERS 32
#include "large_tiles.cuh"
#include "persistent.cuh"

PERSISTENT_LAUNCHES;

TMA_KERNEL(gemm, (THREADS, 1), MAP(of_a), MAP(of_b), MAP(of_y)) {
    ring_t ring(of_a, of_b);
    if (warp_number() >= MULTIPLIERS / 32)
        copy_tiles(ring, of_a, of_b);
    else
        compute_tiles(ring, of_y);
}
