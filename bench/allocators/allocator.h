/* Device memory for the outputs of operators, from one of four allocators behind one interface. A
 * training loop takes what an operator writes from here and gives it back when nobody reads it any
 * more; which allocator it is, is the case's choice.
 *
 *   caching  keeps what is given back and hands it out again: size classes, best fit, split and
 *            coalesce, reuse ordered by stream (caching.c)
 *   malloc   cuMemAlloc and cuMemFree for each block; both wait for the device
 *   async    cuMemAllocFromPoolAsync and cuMemFreeAsync, ordered by stream, from a pool of its own
 *            that keeps what is given back
 *   arena    planned once: the first pass is recorded, every block gets an offset in one piece of
 *            memory, and later passes look it up (arena.c)
 *
 * Streams: a block is used on the stream that it was asked for on. Where others use it too, they
 * wait for that stream first, and the last of them, which the caller has made wait for the others,
 * is the one named when the block is given back. One thread at a time. */
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

/* Their names in that order, NULL-terminated: the choices of a technique. */
extern const char *const ALLOCATOR_NAMES[];

enum {
    ALLOCATOR_ALIGNMENT = 512, /* of addresses; sizes are rounded up to it, by all four */
    ALLOCATOR_MAX_PASSES = 8,
};

typedef struct allocator_options {
    cu_device_t device;
    size_t limit_bytes; /* most that may be reserved; 0: what the device has */
    bool untimed;       /* driver_ns stays 0: for who times every call from outside */
} allocator_options_t;

/* Counts are since allocator_open() or the last allocator_epoch(). Bytes are after rounding up to
 * ALLOCATOR_ALIGNMENT. */
typedef struct allocator_stats {
    uint64_t calls;        /* blocks asked for */
    uint64_t hits;         /* of them, served without a call of the driver's allocator */
    uint64_t driver_calls; /* that allocate or free */
    int64_t driver_ns;     /* of the host, inside those */
    uint64_t retries;      /* the cache was given back because memory had run out */
    size_t allocated_bytes, peak_allocated_bytes; /* in the caller's hands */
    size_t reserved_bytes, peak_reserved_bytes;   /* taken from the driver */
    size_t largest_free_bytes; /* the largest block that is cached; 0 where it is not known */
    /* What was reserved at its peak and not in the caller's hands at theirs, as a share of it:
     * Johnstone and Wilson, "The memory fragmentation problem: solved?", ISMM 1998, measure 4. A
     * share of free memory at one moment says nothing here, where every step ends with all of it
     * free. */
    double fragmentation;
} allocator_stats_t;

typedef struct allocator allocator_t;

/* `api` must outlive the allocator. Free it with allocator_close(). Fails where the driver cannot
 * do it (pools came with CUDA 11.2); `*allocator` is NULL then. */
status_t allocator_open(allocator_kind_t kind, const cuda_api_t *api,
                        const allocator_options_t *options, allocator_t **allocator, error_t *err);
/* Gives all memory back to the driver, blocks that are still in use too. NULL is fine. */
void allocator_close(allocator_t *allocator);

/* `*address` is where at least `bytes` (at least 1) may be used by work on `stream` from now on. A
 * failure leaves it 0 and everything else as it was; when memory has run out its message has the
 * statistics. */
status_t allocator_allocate(allocator_t *allocator, size_t bytes, cu_stream_t stream,
                            cu_pointer_t *address, error_t *err);
/* Give a block back. Work that is queued on `stream` may still use it, work queued later may not.
 */
status_t allocator_free(allocator_t *allocator, cu_pointer_t address, cu_stream_t stream,
                        error_t *err);

/* A pass is what is done again and again with the same sequence of calls: a step of training, one
 * of validation. Each has a number below ALLOCATOR_MAX_PASSES. Only `arena` needs to be told; it
 * hands out nothing between passes, and what a pass takes it must give back before its end. Its
 * first pass of a number is the plan: in later ones a block may be smaller than planned (the last
 * batch of an epoch) and nothing else may differ. */
status_t allocator_begin(allocator_t *allocator, unsigned pass, error_t *err);
status_t allocator_end(allocator_t *allocator, error_t *err);

/* Give back to the driver what is cached and in nobody's use; waits for the device. */
status_t allocator_trim(allocator_t *allocator, error_t *err);

/* An epoch begins: counts start at 0, peaks at what is taken now. */
void allocator_epoch(allocator_t *allocator);
allocator_stats_t allocator_stats(allocator_t *allocator);
/* As the results of a case have them: {"driver_calls": …, "driver_ns": …, "calls": …, …}. The
 * caller owns it. */
json_t *allocator_stats_json(const allocator_stats_t *stats);

#endif
