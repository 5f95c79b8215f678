/* Shared by the four allocators: the function table, the statistics, and counted, timed driver
 * calls. */
#ifndef BENCH_ALLOCATORS_ALLOCATOR_INTERNAL_H
#define BENCH_ALLOCATORS_ALLOCATOR_INTERNAL_H

#include "allocators/allocator.h"
#include "allocators/block_map.h"

/* Functions other than allocate and release may be NULL. Sizes arrive rounded. */
typedef struct allocator_ops {
    size_t state_bytes; /* of allocator.state, zeroed before open() */
    status_t (*open)(allocator_t *, error_t *);
    status_t (*allocate)(allocator_t *, size_t bytes, cu_stream_t, cu_pointer_t *, error_t *);
    /* `*bytes` becomes the size requested when the block was allocated. */
    status_t (*release)(allocator_t *, cu_pointer_t, cu_stream_t, size_t *bytes, error_t *);
    status_t (*begin)(allocator_t *, unsigned pass, error_t *);
    status_t (*end)(allocator_t *, error_t *);
    status_t (*trim)(allocator_t *, error_t *);
    void (*epoch)(allocator_t *);
    void (*measure)(allocator_t *, allocator_stats_t *); /* add what is not counted per call */
    void (*close)(allocator_t *);
} allocator_ops_t;

struct allocator {
    const allocator_ops_t *ops;
    const cuda_api_t *api;
    allocator_options_t options;
    allocator_stats_t stats;
    address_map_t blocks; /* in use by the caller; each allocator defines the value */
    void *state;
};

extern const allocator_ops_t ALLOCATOR_OPS_CACHING, ALLOCATOR_OPS_MALLOC, ALLOCATOR_OPS_ASYNC,
    ALLOCATOR_OPS_ARENA;

/* Around each call of the driver's allocator: count and time it. */
int64_t allocator_driver_enter(allocator_t *allocator);
void allocator_driver_leave(allocator_t *allocator, int64_t start_ns);

/* cuMemAlloc and cuMemFree, counted and timed. Above the limit, allocator_reserve() returns
 * CU_ERROR_OUT_OF_MEMORY without calling the driver. */
cu_result_t allocator_reserve(allocator_t *allocator, size_t bytes, cu_pointer_t *address);
status_t allocator_unreserve(allocator_t *allocator, cu_pointer_t address, size_t bytes,
                             error_t *err);
bool allocator_over_limit(const allocator_t *allocator, size_t bytes);

/* The failure to get `taken_bytes` from the driver for a block of `bytes`: with the statistics if
 * out of memory, else with the driver's message. */
status_t allocator_refused(allocator_t *allocator, cu_result_t result, size_t bytes,
                           size_t taken_bytes, const char *call, error_t *err);
status_t allocator_unknown_block(cu_pointer_t address, error_t *err);

#endif
