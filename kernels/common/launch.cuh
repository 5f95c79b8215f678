// How the host launches a kernel. Each rung defines one object `launch` of this type, and the host reads it
// back from the compiled cubin: that is why a new rung is one new .cu file and no C.
// bench/engine/launch.h mirrors this layout; a test compares the two.
//
// A rung that cannot serve a case says so to the compiler: `#error SKIP: needs exactly one hidden layer`.
// The case is then skipped with that reason.
#pragma once

enum weights_as {
    WEIGHTS_IN_BUFFERS = 0,   // one device buffer per matrix and per bias vector, as in the study
    WEIGHTS_AS_ARGUMENT = 1,  // by value, as a kernel parameter: no buffer and no copy
};

struct launch_t {
    unsigned threads;         // per block
    unsigned items_per_block; // grid = ceil(items / items_per_block)
    unsigned blocks_per_sm;   // upper bound of the grid, in blocks a multiprocessor; 0: no bound
    unsigned dynamic_shared;  // bytes
    unsigned weights;         // weights_as
};

#define LAUNCH extern "C" __device__ const launch_t launch

// A rung of several kernels, or of one that is not launched once a sample, defines a table `stages` instead, in the
// order in which they run, and a `plan` for all of them.
enum stage_when {
    STAGE_ONCE = 0,      // as the case is opened: makes the data
    STAGE_TRAINING = 1,  // once a training: in front of its epochs, or, alone, goes through all of them by itself
    STAGE_EPOCH = 2,     // in each epoch
    STAGE_LOSS = 3,      // in epochs whose loss is kept
    STAGE_AFTER = 4,     // once, behind the training and outside of its time: evaluation
    STAGE_LIBRARY = 5,   // by the host, beside a library's calls, where the library cannot do it itself
};

enum stage_flags {
    STAGE_COOPERATIVE = 1,  // all blocks run at the same time, so that they may wait for each other
    STAGE_OVERLAPPED = 2,   // may start before the kernel in front of it has ended, and waits for it itself (sm_90)
    STAGE_SPLIT = 4,        // one launch on each of the plan's streams, each for its part of the items
};

struct stage_t {
    char entry[24];           // name of the kernel
    unsigned when;            // stage_when
    unsigned flags;           // stage_flags
    unsigned threads;         // per block
    unsigned items_per_block; // grid = ceil(items / items_per_block); 0: one block
    unsigned blocks_per_sm;   // upper bound of the grid, in blocks a multiprocessor; 0: no bound
    unsigned max_blocks;      // upper bound of the grid; 0: no bound
    unsigned dynamic_shared;  // bytes
    unsigned tile_rows;       // mlp_train: the part of a result that a block makes, 0: all of its rows; items are …
    unsigned tile_columns;    // … such tiles, …
    unsigned split;           // … times the blocks that share the sums of each; 0: one
};

struct plan_t {
    unsigned streams;          // that STAGE_SPLIT stages run on; 1: the main stream
    unsigned graph;            // the epochs are captured once and replayed
    unsigned algorithmic;      // another algorithm with the same result: not compared with the rest of the ladder
    unsigned scratch_per_item; // bytes of device memory
    unsigned library;          // the host has cuBLASLt multiply matrices between the stages
};

#define STAGES extern "C" __device__ const stage_t stages[]
#define PLAN extern "C" __device__ const plan_t plan
