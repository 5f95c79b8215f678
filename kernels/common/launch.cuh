// How the host launches a kernel. Each rung defines one object `launch` of this type, and the host reads it
// back from the compiled cubin: that is why a new rung is one new .cu file and no C.
// bench/engines/launch.h mirrors this layout; a test compares the two.
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
