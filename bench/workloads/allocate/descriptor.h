/* What the sessions of the allocate workload share with its descriptor and with tests: the trace.
 */
#ifndef BENCH_WORKLOADS_ALLOCATE_DESCRIPTOR_H
#define BENCH_WORKLOADS_ALLOCATE_DESCRIPTOR_H

#include <stddef.h>
#include <stdint.h>

/* The blocks of one step of training are drawn from at random. Streams of the random numbers:
 * `start` says how large block i is at the beginning, `victim` which block change i gives back,
 * `size` how large the one is that it takes instead. */
enum { ALLOCATE_STREAM_START, ALLOCATE_STREAM_VICTIM, ALLOCATE_STREAM_SIZE };

typedef struct allocate_change {
    uint32_t block, bytes;
} allocate_change_t;

size_t allocate_start_bytes(uint64_t seed, size_t block);
allocate_change_t allocate_change(uint64_t seed, size_t n_live, uint64_t index);
double allocate_mean_bytes(void);

#endif
