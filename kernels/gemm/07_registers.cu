// Idea    The warp that copies needs few registers: let those that multiply have the rest.
// Change  From 06: copying has a warpgroup, three warps of which end at once, and setmaxnreg moves its registers.
// Buys    m = 4096: 176.4 us (06: 177.8, cuBLASLt: 177.7), 1024: 45.8 (46.0, 46.0), in one pass on an H200.
//         512: 24.0, cuBLASLt 24.1. Why is not known: the compiler uses 168 registers either way.
// Limits  At 700 W the power limit of the GPU decides, for cuBLAS as for this.
#ifndef __CUDA_ARCH_FEAT_SM90_ALL
#error SKIP: needs wgmma and TMA (sm_90a)
#endif
#define PARTS 1
#define COPIERS 128
#include "large_tiles.cuh"
#include "persistent.cuh"

PERSISTENT_LAUNCHES;

TMA_KERNEL(gemm, (THREADS, 1), MAP(of_a), MAP(of_b), MAP(of_y)) {
    ring_t ring(of_a, of_b);
    if (warp_number() >= MULTIPLIERS / 32) {
        give_registers<24>();
        copy_tiles(ring, of_a, of_b);
    } else {
        take_registers<240>();
        compute_tiles(ring, of_y);
    }
}
