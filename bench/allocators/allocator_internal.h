/* What the four allocators share: a table of functions each, the statistics, and the driver's calls
 * with their count and time. */
#ifndef BENCH_ALLOCATORS_ALLOCATOR_INTERNAL_H
#define BENCH_ALLOCATORS_ALLOCATOR_INTERNAL_H

#include "allocators/allocator.h"
#include "allocators/block_map.h"

/* NULL is "nothing to do" in all but allocate and release. Sizes come rounded. */
typedef struct allocator_ops {
    status_t (*open)(allocator_t *, error_t *);
    status_t (*allocate)(allocator_t *, size_t bytes, cu_stream_t, cu_pointer_t *, error_t *);
    /* `*bytes` is what was asked for when the block was allocated. */
    status_t (*release)(allocator_t *, cu_pointer_t, cu_stream_t, size_t *bytes, error_t *);
    status_t (*begin)(allocator_t *, unsigned pass, error_t *);
    status_t (*end)(allocator_t *, error_t *);
    status_t (*trim)(allocator_t *, error_t *);
    void (*epoch)(allocator_t *);
    void (*measure)(allocator_t *, allocator_stats_t *); /* what it does not count as it goes */
    void (*close)(allocator_t *);
} allocator_ops_t;

struct allocator {
    const allocator_ops_t *ops;
    const cuda_api_t *api;
    allocator_options_t options;
    allocator_stats_t stats;
    address_map_t live; /* blocks in the caller's hands; the value is the allocator's own */
    void *state;
};

extern const allocator_ops_t ALLOCATOR_OPS_CACHING, ALLOCATOR_OPS_MALLOC, ALLOCATOR_OPS_ASYNC,
    ALLOCATOR_OPS_ARENA;

/* Around a call of the driver's allocator: counts it and its time. */
int64_t allocator_driver_enter(allocator_t *allocator);
void allocator_driver_leave(allocator_t *allocator, int64_t start_ns);

/* cuMemAlloc and cuMemFree with everything counted. Beyond the limit the driver is not asked, and
 * the answer is that memory has run out. */
cu_result_t allocator_reserve(allocator_t *allocator, size_t bytes, cu_pointer_t *address);
status_t allocator_unreserve(allocator_t *allocator, cu_pointer_t address, size_t bytes,
                             error_t *err);
bool allocator_over_limit(const allocator_t *allocator, size_t bytes);

/* The failure of an attempt to get `taken_bytes` from the driver for a block of `bytes`: with the
 * statistics if memory has run out, else in the driver's own words. */
status_t allocator_refused(allocator_t *allocator, cu_result_t result, size_t bytes,
                           size_t taken_bytes, const char *call, error_t *err);
status_t allocator_not_live(cu_pointer_t address, error_t *err);

#endif
