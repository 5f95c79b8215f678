/* The host's view of kernels/common/launch.cuh: same fields, same order (a test compares the two).
 */
#ifndef BENCH_LAUNCH_H
#define BENCH_LAUNCH_H

#include <stdint.h>

enum { WEIGHTS_IN_BUFFERS = 0, WEIGHTS_AS_ARGUMENT = 1 };

typedef struct launch {
    uint32_t threads;
    uint32_t items_per_block;
    uint32_t blocks_per_sm;
    uint32_t dynamic_shared;
    uint32_t weights;
} launch_t;

#endif
