/* Shared by the four allocators: the function table, the statistics, and counted, timed driver
 * calls. */
#ifndef BENCH_ALLOCATORS_ALLOCATOR_INTERNAL_H
#define BENCH_ALLOCATORS_ALLOCATOR_INTERNAL_H

#include "allocators/allocator.h"
#include "cuda/driver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maps a block's address to its allocator's data. A hash table with open addressing: a look-up
 * takes one multiplication and usually one cache line, for ten blocks or ten thousand. */

typedef struct address_entry {
    uint64_t address; /* 0: empty slot */
    uint64_t value;
} address_entry_t;

/* Zero-initialise; address_map_free() empties it. */
typedef struct address_map {
    address_entry_t *entries;
    size_t n;
    unsigned bits; /* 2^bits slots */
} address_map_t;

/* `address` must be neither 0 nor in the map. */
void address_map_add(address_map_t *map, uint64_t address, uint64_t value);
bool address_map_get(const address_map_t *map, uint64_t address, uint64_t *value);
/* Like address_map_get(), and remove the entry. */
bool address_map_take(address_map_t *map, uint64_t address, uint64_t *value);
/* Iterate: the entry after `entry`, or the first for NULL; NULL at the end. */
const address_entry_t *address_map_next(const address_map_t *map, const address_entry_t *entry);
void address_map_free(address_map_t *map);

/* Functions other than allocate and release may be NULL. Sizes arrive rounded. */
typedef struct allocator_ops {
    size_t state_bytes; /* of allocator.state, zeroed before open() */
    status_t (*open)(allocator_t *, error_t *);
    status_t (*allocate)(allocator_t *, size_t bytes, cu_stream_t, cu_pointer_t *, error_t *);
    /* `*bytes` becomes the size requested when the block was allocated. */
    status_t (*release)(allocator_t *, cu_pointer_t, cu_stream_t, size_t *bytes, error_t *);
    status_t (*begin)(allocator_t *, error_t *);
    status_t (*end)(allocator_t *, error_t *);
    void (*epoch)(allocator_t *);
    void (*measure)(allocator_t *, allocator_stats_t *); /* add what is not counted per call */
    void (*close)(allocator_t *);
} allocator_ops_t;

struct allocator {
    const allocator_ops_t *ops;
    const cuda_api_t *api;
    cu_device_t device;
    allocator_stats_t stats;
    address_map_t blocks; /* in use by the caller; each allocator defines the value */
    void *state;
};

extern const allocator_ops_t ALLOCATOR_OPS_CACHING, ALLOCATOR_OPS_MALLOC, ALLOCATOR_OPS_ASYNC,
    ALLOCATOR_OPS_ARENA;

/* cuMemAlloc and cuMemFree, counted. */
cu_result_t allocator_reserve(allocator_t *allocator, size_t bytes, cu_pointer_t *address);
status_t allocator_unreserve(allocator_t *allocator, cu_pointer_t address, size_t bytes,
                             error_t *err);

/* The failure to get `taken_bytes` from the driver for a block of `bytes`: with the statistics if
 * out of memory, else with the driver's message. */
status_t allocator_refused(allocator_t *allocator, cu_result_t result, size_t bytes,
                           size_t taken_bytes, const char *call, error_t *err);
status_t allocator_unknown_block(cu_pointer_t address, error_t *err);

/* Segments of device memory divided into blocks: neighbours are linked, free blocks are in a tree
 * ordered by size. Driver calls, streams and statistics are left to the caching allocator. */

typedef struct block block_t;
typedef struct block_segment block_segment_t;

typedef enum block_use {
    BLOCK_FREE, /* in the tree of its segment's owner */
    BLOCK_ALLOCATED,
    BLOCK_WAITING, /* freed, but another stream's work may still use it */
} block_use_t;

struct block {
    /* Segment number · 2^32 + offset / 512: orders blocks of equal size. It does not depend on the
     * driver's addresses, so equal calls get equal places in every run. */
    uint64_t place;
    size_t bytes;
    size_t asked_bytes; /* of an allocated block: the bytes requested */
    block_segment_t *segment;
    block_t *previous, *next;  /* neighbours in the segment */
    block_t *smaller, *larger; /* in the tree; `larger` also links queues and spare blocks */
    cu_event_t event;          /* of a waiting block */
    uint32_t priority;
    block_use_t use;
};

struct block_segment {
    cu_pointer_t address;
    size_t bytes;
    block_t *first;
    unsigned number; /* in order of allocation, never reused */
    unsigned owner;  /* the caching allocator's index of the stream that it belongs to */
    bool small;
    cu_event_t event; /* of an entirely free segment: the end of the owner's work; or NULL */
};

#endif
