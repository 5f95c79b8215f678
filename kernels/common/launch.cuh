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

// A rung with several kernels, or with one that is not launched once per sample, defines a table `stages` in execution
// order instead, and a `plan` for all of them.
enum stage_when {
    STAGE_TRAINING = 1,  // once per training, before its epochs, or running all of them
    STAGE_EPOCH = 2,     // in each epoch
    STAGE_AFTER = 4,     // once, after the training, not timed: validation
};

enum stage_flags {
    STAGE_COOPERATIVE = 1,  // all blocks are resident, so they may wait for each other
    STAGE_OVERLAPPED = 2,   // may start before the previous kernel ends, and waits for it itself (sm_90)
};

struct stage_t {
    char entry[24];           // name of the kernel
    unsigned when;            // stage_when
    unsigned flags;           // stage_flags
    unsigned threads;         // per block
    unsigned items_per_block; // grid = ceil(items / items_per_block); 0: one block
    unsigned blocks_per_sm;   // upper bound of the grid, in blocks per multiprocessor; 0: none
    unsigned max_blocks;      // upper bound of the grid; 0: none
    unsigned dynamic_shared;  // bytes
    unsigned tile_rows;       // mlp_train: the tile of a result that a block computes, 0: all rows;
    unsigned tile_columns;    // items are such tiles times `split`
    unsigned split;           // blocks that share the sums of a tile; 0: one
};

struct plan_t {
    unsigned streams;          // 1
    unsigned graph;            // the epochs are captured once and replayed
    unsigned algorithmic;      // 0
    unsigned scratch_per_item; // bytes of device memory
};

#define STAGES extern "C" __device__ const stage_t stages[]
#define PLAN extern "C" __device__ const plan_t plan
