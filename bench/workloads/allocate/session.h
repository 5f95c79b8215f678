/* The trace of the allocate workload. */
#ifndef BENCH_WORKLOADS_ALLOCATE_SESSION_H
#define BENCH_WORKLOADS_ALLOCATE_SESSION_H

#include <stddef.h>
#include <stdint.h>

typedef struct allocate_change {
    uint32_t block, bytes;
} allocate_change_t;

size_t allocate_start_bytes(uint64_t seed, size_t block);
allocate_change_t allocate_change(uint64_t seed, size_t n_live, uint64_t index);
double allocate_mean_bytes(void);

#endif
