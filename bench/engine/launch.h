/* Host copy of the structs in kernels/common/launch.cuh (a test compares the two), and reading them
 * from a cubin. */
#ifndef BENCH_ENGINE_LAUNCH_H
#define BENCH_ENGINE_LAUNCH_H

#include "cuda/cubin.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct launch {
    uint32_t threads;
    uint32_t items_per_block;
    uint32_t blocks_per_sm;
    uint32_t dynamic_shared;
} launch_t;

enum stage_when { STAGE_TRAINING = 1, STAGE_EPOCH = 2, STAGE_AFTER = 4 };

enum stage_flags { STAGE_COOPERATIVE = 1, STAGE_OVERLAPPED = 2 };

typedef struct stage {
    char entry[24];
    uint32_t when;
    uint32_t flags;
    uint32_t threads;
    uint32_t items_per_block;
    uint32_t blocks_per_sm;
    uint32_t max_blocks;
    uint32_t dynamic_shared;
    uint32_t tile_rows;
    uint32_t tile_columns;
    uint32_t split;
} stage_t;

typedef struct plan {
    uint32_t streams;
    uint32_t graph;
    uint32_t algorithmic;
    uint32_t scratch_per_item;
} plan_t;

enum { LAUNCH_MOST_STAGES = 12 };

/* A program's LAUNCH. */
status_t launch_read(const cubin_t *cubin, launch_t *launch, error_t *err);
/* Its PLAN and STAGES; `*n` gets their number. */
status_t launch_read_stages(const cubin_t *cubin, plan_t *plan, stage_t stages[LAUNCH_MOST_STAGES],
                            size_t *n, error_t *err);

/* Can this program be launched on an architecture such as 90? Checks its tables, that it has the
 * kernels they name (with LAUNCH the one kernel `entry`), and the limits of a block. The message
 * says what was found and expected. */
status_t launch_check(const cubin_t *cubin, const char *entry, bool needs_stages, unsigned arch,
                      error_t *err);
/* The largest shared memory of a block, in bytes. */
uint32_t launch_shared_limit(unsigned arch);

#endif
