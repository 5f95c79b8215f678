#include "allocators/allocator.h"

#include "allocators/allocator_internal.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>

const char *const ALLOCATOR_NAMES[] = {"caching", "malloc", "async", "arena", NULL};

static const allocator_ops_t *const OPS[] = {&ALLOCATOR_OPS_CACHING, &ALLOCATOR_OPS_MALLOC,
                                             &ALLOCATOR_OPS_ASYNC, &ALLOCATOR_OPS_ARENA};

/* Far above any device, far below where sums of sizes would overflow. */
static const size_t MAX_BYTES = (size_t)1 << 40;

status_t allocator_open(allocator_kind_t kind, const cuda_api_t *api,
                        const allocator_options_t *options, allocator_t **allocator, error_t *err) {
    allocator_t *a = mem_zeroed(1, sizeof *a);
    a->ops = OPS[kind];
    a->api = api;
    a->options = *options;
    *allocator = a;
    if (a->ops->open == NULL || a->ops->open(a, err) == STATUS_OK)
        return STATUS_OK;
    free(a);
    *allocator = NULL;
    return err->status;
}

void allocator_close(allocator_t *allocator) {
    if (allocator == NULL)
        return;
    if (allocator->ops->close != NULL)
        allocator->ops->close(allocator);
    address_map_free(&allocator->live);
    free(allocator);
}

status_t allocator_allocate(allocator_t *allocator, size_t bytes, cu_stream_t stream,
                            cu_pointer_t *address, error_t *err) {
    allocator_stats_t *stats = &allocator->stats;
    *address = 0;
    if (bytes == 0 || bytes > MAX_BYTES)
        return error_set(err, STATUS_FAILED, "an allocation of %zu bytes; expected 1 to %zu", bytes,
                         MAX_BYTES);
    bytes = (bytes + ALLOCATOR_ALIGNMENT - 1) / ALLOCATOR_ALIGNMENT * ALLOCATOR_ALIGNMENT;
    const uint64_t driver_calls = stats->driver_calls;
    stats->calls++;
    TRY(allocator->ops->allocate(allocator, bytes, stream, address, err));
    stats->hits += stats->driver_calls == driver_calls;
    stats->allocated_bytes += bytes;
    if (stats->allocated_bytes > stats->peak_allocated_bytes)
        stats->peak_allocated_bytes = stats->allocated_bytes;
    return STATUS_OK;
}

status_t allocator_free(allocator_t *allocator, cu_pointer_t address, cu_stream_t stream,
                        error_t *err) {
    size_t bytes = 0;
    TRY(allocator->ops->release(allocator, address, stream, &bytes, err));
    allocator->stats.allocated_bytes -= bytes;
    return STATUS_OK;
}

status_t allocator_begin(allocator_t *allocator, unsigned pass, error_t *err) {
    return allocator->ops->begin != NULL ? allocator->ops->begin(allocator, pass, err) : STATUS_OK;
}

status_t allocator_end(allocator_t *allocator, error_t *err) {
    return allocator->ops->end != NULL ? allocator->ops->end(allocator, err) : STATUS_OK;
}

status_t allocator_trim(allocator_t *allocator, error_t *err) {
    return allocator->ops->trim != NULL ? allocator->ops->trim(allocator, err) : STATUS_OK;
}

void allocator_epoch(allocator_t *allocator) {
    allocator_stats_t *stats = &allocator->stats;
    *stats = (allocator_stats_t){.allocated_bytes = stats->allocated_bytes,
                                 .peak_allocated_bytes = stats->allocated_bytes,
                                 .reserved_bytes = stats->reserved_bytes,
                                 .peak_reserved_bytes = stats->reserved_bytes};
    if (allocator->ops->epoch != NULL)
        allocator->ops->epoch(allocator);
}

allocator_stats_t allocator_stats(allocator_t *allocator) {
    allocator_stats_t stats = allocator->stats;
    if (allocator->ops->measure != NULL)
        allocator->ops->measure(allocator, &stats);
    if (stats.peak_reserved_bytes > stats.peak_allocated_bytes)
        stats.fragmentation =
            1 - (double)stats.peak_allocated_bytes / (double)stats.peak_reserved_bytes;
    return stats;
}

json_t *allocator_stats_json(const allocator_stats_t *stats) {
    return json_pack("{sI sI sI sI sI sI sI sI sI sI sf}", "driver_calls",
                     (json_int_t)stats->driver_calls, "driver_ns", (json_int_t)stats->driver_ns,
                     "calls", (json_int_t)stats->calls, "hits", (json_int_t)stats->hits, "retries",
                     (json_int_t)stats->retries, "reserved_bytes",
                     (json_int_t)stats->reserved_bytes, "peak_reserved_bytes",
                     (json_int_t)stats->peak_reserved_bytes, "allocated_bytes",
                     (json_int_t)stats->allocated_bytes, "peak_bytes",
                     (json_int_t)stats->peak_allocated_bytes, "largest_free_bytes",
                     (json_int_t)stats->largest_free_bytes, "fragmentation", stats->fragmentation);
}

/* ---- for the allocators ------------------------------------------------------------------------
 */

int64_t allocator_driver_enter(allocator_t *allocator) {
    allocator->stats.driver_calls++;
    return allocator->options.untimed ? 0 : clock_ns();
}

void allocator_driver_leave(allocator_t *allocator, int64_t start_ns) {
    if (!allocator->options.untimed)
        allocator->stats.driver_ns += clock_ns() - start_ns;
}

bool allocator_over_limit(const allocator_t *allocator, size_t bytes) {
    const size_t limit_bytes = allocator->options.limit_bytes;
    return limit_bytes > 0 &&
           (bytes > limit_bytes || allocator->stats.reserved_bytes > limit_bytes - bytes);
}

cu_result_t allocator_reserve(allocator_t *allocator, size_t bytes, cu_pointer_t *address) {
    allocator_stats_t *stats = &allocator->stats;
    *address = 0;
    if (allocator_over_limit(allocator, bytes))
        return CU_ERROR_OUT_OF_MEMORY;
    int64_t start_ns = allocator_driver_enter(allocator);
    cu_result_t result = allocator->api->alloc(address, bytes);
    allocator_driver_leave(allocator, start_ns);
    if (result != CU_SUCCESS)
        return result;
    stats->reserved_bytes += bytes;
    if (stats->reserved_bytes > stats->peak_reserved_bytes)
        stats->peak_reserved_bytes = stats->reserved_bytes;
    return CU_SUCCESS;
}

status_t allocator_unreserve(allocator_t *allocator, cu_pointer_t address, size_t bytes,
                             error_t *err) {
    int64_t start_ns = allocator_driver_enter(allocator);
    cu_result_t result = allocator->api->release(address);
    allocator_driver_leave(allocator, start_ns);
    TRY(cuda_check(allocator->api, result, "cuMemFree", err));
    allocator->stats.reserved_bytes -= bytes;
    return STATUS_OK;
}

status_t allocator_refused(allocator_t *allocator, cu_result_t result, size_t bytes,
                           size_t taken_bytes, const char *call, error_t *err) {
    if (result != CU_ERROR_OUT_OF_MEMORY)
        return cuda_check(allocator->api, result, call, err);
    const allocator_stats_t stats = allocator_stats(allocator);
    char asked[UNITS_TEXT], taken[UNITS_TEXT], allocated[UNITS_TEXT], reserved[UNITS_TEXT],
        largest[UNITS_TEXT], limit[UNITS_TEXT];
    return error_set(
        err, STATUS_FAILED,
        "out of device memory: asked for %s, for which the driver was to give %s; %s are allocated "
        "and %s reserved, the largest free block has %s, the limit is %s",
        units_bytes(asked, (double)bytes), units_bytes(taken, (double)taken_bytes),
        units_bytes(allocated, (double)stats.allocated_bytes),
        units_bytes(reserved, (double)stats.reserved_bytes),
        units_bytes(largest, (double)stats.largest_free_bytes),
        allocator->options.limit_bytes > 0
            ? units_bytes(limit, (double)allocator->options.limit_bytes)
            : "what the device has");
}

status_t allocator_not_live(cu_pointer_t address, error_t *err) {
    return error_set(err, STATUS_FAILED,
                     "0x%" PRIx64
                     " was given back and is no block in use: never allocated here, or "
                     "given back before",
                     address);
}
