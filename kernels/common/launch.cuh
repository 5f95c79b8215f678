// How the host launches a kernel. Each rung defines one object `launch`, which the host reads from the cubin: a new
// rung is one .cu file and no C. bench/engine/launch.h mirrors this layout; a test compares the two.
// A rung that does not support a case contains `#error SKIP: reason`: the case is then skipped with that reason.
#pragma once
#ifdef __CUDACC_RTC__
#include "nvrtc/math.h"
#endif

struct launch_t {
    unsigned threads;         // per block
    unsigned items_per_block; // grid = ceil(items / items_per_block)
    unsigned blocks_per_sm;   // upper bound of the grid, in blocks per multiprocessor; 0: none
    unsigned dynamic_shared;  // bytes
};

// The largest shared memory of a block, in bytes.
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
#define SHARED_LIMIT (227 * 1024)
#elif __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 870
#define SHARED_LIMIT (163 * 1024)
#elif __CUDA_ARCH__ >= 860
#define SHARED_LIMIT (99 * 1024)
#else
#define SHARED_LIMIT (64 * 1024)
#endif

#define LAUNCH extern "C" __device__ const launch_t launch

