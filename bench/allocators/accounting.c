/* Statistics that all allocators share: driver calls and reserved memory. */
#include "allocators/allocator_internal.h"

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

cu_result_t allocator_reserve(allocator_t *allocator, size_t bytes, cu_pointer_t *address) {
    allocator_stats_t *stats = &allocator->stats;
    *address = 0;
    stats->driver_calls++;
    cu_result_t result = allocator->api->alloc(address, bytes);
    if (result != CU_SUCCESS)
        return result;
    stats->reserved_bytes += bytes;
    if (stats->reserved_bytes > stats->peak_reserved_bytes)
        stats->peak_reserved_bytes = stats->reserved_bytes;
    return CU_SUCCESS;
}

status_t allocator_unreserve(allocator_t *allocator, cu_pointer_t address, size_t bytes,
                             error_t *err) {
    allocator->stats.driver_calls++;
    cu_result_t result = allocator->api->release(address);
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
        largest[UNITS_TEXT];
    return error_set(err, STATUS_FAILED,
                     "out of device memory: could not allocate %s (%s from the driver); %s "
                     "allocated, %s reserved, largest free block %s",
                     units_bytes(asked, (double)bytes), units_bytes(taken, (double)taken_bytes),
                     units_bytes(allocated, (double)stats.allocated_bytes),
                     units_bytes(reserved, (double)stats.reserved_bytes),
                     units_bytes(largest, (double)stats.largest_free_bytes));
}

status_t allocator_unknown_block(cu_pointer_t address, error_t *err) {
    return error_set(err, STATUS_FAILED,
                     "0x%" PRIx64 " was freed but is not in use: freed twice, or never allocated",
                     address);
}
