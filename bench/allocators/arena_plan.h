/* Where blocks lie in one piece of memory, when it is known beforehand which of them are in use at
 * the same time. */
#ifndef BENCH_ALLOCATORS_ARENA_PLAN_H
#define BENCH_ALLOCATORS_ARENA_PLAN_H

#include "cuda/driver.h"

typedef struct arena_block {
    size_t bytes;
    size_t from, to; /* in use from call number `from` until call number `to`, which frees it */
    cu_stream_t stream;
    size_t offset; /* the plan */
} arena_block_t;

/* Give every block its offset; blocks that are in use at the same time do not overlap, nor do
 * blocks of different streams, whose work has no order. Returns the bytes of the whole. */
size_t arena_plan(arena_block_t *blocks, size_t n);

#endif
