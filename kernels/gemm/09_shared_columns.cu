// Idea    Rows that do not begin at a multiple of 128 bytes take TMA two requests each: load fewer rows.
// Change  From 07: two blocks of a cluster, one tile below the other, need the same columns of b. Each loads half of them
//         into the shared memory of both.
// Buys    1000 x 4008 x 4056: 51.2 us (07: 68.4, cuBLAS 47.3), in three passes on an H200. Where rows begin at multiples of
//         128 bytes it is slower: m = 1024 47.1 (45.9), 4096 183 (179).
// Limits  Both wait for the slower one. Four that share take 88.8 us, eight 88.4: presumably two turns, as not all fit.
#ifndef __CUDA_ARCH_FEAT_SM90_ALL
#error SKIP: needs wgmma and TMA (sm_90a)
#endif
#define PARTS 1
#define COPIERS 128
#define SHARERS 2
#include "large_tiles.cuh"
#include "persistent.cuh"

PERSISTENT_LAUNCHES;

TMA_KERNEL(gemm, (THREADS, 1), MAP(of_a), MAP(of_b), MAP(of_y)) {
    ring_t ring(of_a, of_b);
    cluster_barrier(); // the other block's barriers are there
    if (warp_number() >= MULTIPLIERS / 32) {
        give_registers<24>();
        copy_tiles(ring, of_a, of_b);
        __syncwarp();
    } else {
        take_registers<240>();
        compute_tiles(ring, of_y);
        __syncwarp();
    }
    cluster_barrier(); // the other block has said to this one what it has to
}
