/* The trace of the allocate workload. */
#ifndef BENCH_WORKLOADS_ALLOCATE_DESCRIPTOR_H
#define BENCH_WORKLOADS_ALLOCATE_DESCRIPTOR_H

#include <stddef.h>
#include <stdint.h>

/* Sizes are drawn from the blocks of one training step. Random streams: `start` gives the initial
 * size of block i, `victim` the block that change i frees, `size` that of its replacement. */
enum { ALLOCATE_STREAM_START, ALLOCATE_STREAM_VICTIM, ALLOCATE_STREAM_SIZE };

typedef struct allocate_change {
    uint32_t block, bytes;
} allocate_change_t;

size_t allocate_start_bytes(uint64_t seed, size_t block);
allocate_change_t allocate_change(uint64_t seed, size_t n_live, uint64_t index);
double allocate_mean_bytes(void);

#endif
