/* Device memory for the outputs of operators, from one of four allocators behind one interface. A
 * training loop allocates each operator's output here and frees it after its last use. The case
 * selects the allocator:
 *
 *   caching  keeps freed blocks for reuse: size classes, best fit, split and coalesce, reuse
 *            ordered by stream (caching.c)
 *   malloc   cuMemAlloc and cuMemFree for each block; both wait for the device
 *   async    cuMemAllocFromPoolAsync and cuMemFreeAsync, ordered by stream, from a private pool
 *            that keeps freed memory
 *   arena    planned once: the first pass is recorded, every block gets an offset in one
 *            allocation, and later passes look it up (arena.c)
 *
 * Streams: a block is used on the stream passed to allocator_allocate(). Other streams that use it
 * wait for that stream first; the caller makes the last of them wait for the others and passes it
 * to allocator_free(). One thread at a time. */
#ifndef BENCH_ALLOCATORS_ALLOCATOR_H
#define BENCH_ALLOCATORS_ALLOCATOR_H

#include "base/error.h"
#include "cuda/driver.h"

#include <jansson.h>
#include <stdbool.h>

typedef enum allocator_kind {
    ALLOCATOR_CACHING,
    ALLOCATOR_MALLOC,
    ALLOCATOR_ASYNC,
    ALLOCATOR_ARENA,
} allocator_kind_t;

/* Names in that order, NULL-terminated: the choices of a technique. */
extern const char *const ALLOCATOR_NAMES[];

enum { ALLOCATOR_ALIGNMENT = 512 }; /* of addresses; all four round sizes up to it */

/* Counts start at allocator_open() or the last allocator_epoch(). Bytes are rounded up to
 * ALLOCATOR_ALIGNMENT. */
typedef struct allocator_stats {
    uint64_t calls;        /* allocations */
    uint64_t hits;         /* allocations served without a driver call */
    uint64_t driver_calls; /* that allocate or free */
    uint64_t retries;      /* out of memory: the cache was freed and the allocation repeated */
    size_t allocated_bytes, peak_allocated_bytes; /* in use by the caller */
    size_t reserved_bytes, peak_reserved_bytes;   /* allocated from the driver */
    size_t largest_free_bytes;                    /* largest cached block; 0 if unknown */
    /* 1 - peak allocated / peak reserved: Johnstone and Wilson, "The memory fragmentation problem:
     * solved?", ISMM 1998, measure 4. The free share at one moment is no use: every step ends with
     * all memory free. */
    double fragmentation;
} allocator_stats_t;

typedef struct allocator allocator_t;

/* `api` must outlive the allocator; `device` is the current one. Close with allocator_close(). Fails with `*allocator` NULL when
 * the driver lacks support (memory pools require CUDA 11.2). */
status_t allocator_open(allocator_kind_t kind, const cuda_api_t *api, cu_device_t device,
                        allocator_t **allocator, error_t *err);
/* Returns all memory to the driver, including blocks still in use. NULL is fine. */
void allocator_close(allocator_t *allocator);

/* Allocate at least `bytes` (at least 1) for work queued on `stream` from now on. A failure sets
 * `*address` to 0 and changes nothing else; an out-of-memory message includes the statistics. */
status_t allocator_allocate(allocator_t *allocator, size_t bytes, cu_stream_t stream,
                            cu_pointer_t *address, error_t *err);
/* Free a block. Work already queued on `stream` may still use it; later work may not. */
status_t allocator_free(allocator_t *allocator, cu_pointer_t address, cu_stream_t stream,
                        error_t *err);

/* A pass is a sequence of calls that repeats. Only `arena` uses passes: it allocates only within one, and a pass must
 * free all its blocks before it ends. The first is the plan: later ones may differ only in smaller blocks. */
status_t allocator_begin(allocator_t *allocator, error_t *err);
status_t allocator_end(allocator_t *allocator, error_t *err);

/* Start an epoch: reset counts to 0 and peaks to the current values. */
void allocator_epoch(allocator_t *allocator);
allocator_stats_t allocator_stats(allocator_t *allocator);
/* For a case's results: {"driver_calls": …, "calls": …, …}. The caller owns it. */
json_t *allocator_stats_json(const allocator_stats_t *stats);

/* Places blocks in one allocation, given in advance which of them are in use at the same time. */

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
