/* Statistics that all allocators share: driver calls and reserved memory. */
#include "allocators/allocator_internal.h"

#include "base/clock.h"
#include "base/units.h"

#include <inttypes.h>

allocator_stats_t allocator_stats(allocator_t *allocator) {
    allocator_stats_t stats = allocator->stats;
    if (allocator->ops->measure != NULL)
        allocator->ops->measure(allocator, &stats);
    if (stats.peak_reserved_bytes > stats.peak_allocated_bytes)
        stats.fragmentation =
            1 - (double)stats.peak_allocated_bytes / (double)stats.peak_reserved_bytes;
    return stats;
}

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
    const size_t limit_bytes = allocator->options.limit_bytes;
    char asked[UNITS_TEXT], taken[UNITS_TEXT], allocated[UNITS_TEXT], reserved[UNITS_TEXT],
        largest[UNITS_TEXT], limit[UNITS_TEXT];
    return error_set(err, STATUS_FAILED,
                     "out of device memory: could not allocate %s (%s from the driver); %s "
                     "allocated, %s reserved, largest free block %s, limit %s",
                     units_bytes(asked, (double)bytes), units_bytes(taken, (double)taken_bytes),
                     units_bytes(allocated, (double)stats.allocated_bytes),
                     units_bytes(reserved, (double)stats.reserved_bytes),
                     units_bytes(largest, (double)stats.largest_free_bytes),
                     limit_bytes > 0 ? units_bytes(limit, (double)limit_bytes) : "none");
}

status_t allocator_unknown_block(cu_pointer_t address, error_t *err) {
    return error_set(err, STATUS_FAILED,
                     "0x%" PRIx64 " was freed but is not in use: freed twice, or never allocated",
                     address);
}
