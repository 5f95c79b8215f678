/* Places blocks in one allocation, given in advance which of them are in use at the same time. */
#ifndef BENCH_ALLOCATORS_ARENA_H
#define BENCH_ALLOCATORS_ARENA_H

#include "cuda/driver.h"

typedef struct arena_block {
    size_t bytes;
    size_t from, to; /* allocated by call number `from`, freed by call number `to` */
    cu_stream_t stream;
    size_t offset; /* set by arena_plan() */
} arena_block_t;

/* Set every block's offset. Blocks in use at the same time do not overlap, nor do blocks of
 * different streams, whose work is not ordered. Returns the total bytes. */
size_t arena_plan(arena_block_t *blocks, size_t n);

#endif
