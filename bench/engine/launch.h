/* Host copy of the struct in kernels/common/launch.cuh (a test compares the two), and reading them
 * from a cubin. */
#ifndef BENCH_ENGINE_LAUNCH_H
#define BENCH_ENGINE_LAUNCH_H

#include "cuda/cubin.h"

#include <stdint.h>

typedef struct launch {
    uint32_t threads;
    uint32_t items_per_block;
    uint32_t blocks_per_sm;
    uint32_t dynamic_shared;
} launch_t;

/* A program's LAUNCH. */
status_t launch_read(const cubin_t *cubin, launch_t *launch, error_t *err);
/* Can this program be launched on an architecture such as 90? Checks LAUNCH, that it has the kernel
 * `entry`, and the limits of a block. The message says what was found and expected. */
status_t launch_check(const cubin_t *cubin, const char *entry, unsigned arch, error_t *err);
/* The largest shared memory of a block, in bytes. */
uint32_t launch_shared_limit(unsigned arch);

#endif
