#include "allocators/allocator.h"

#include "allocators/allocator_internal.h"
#include "base/memory.h"

#include <stdlib.h>

const char *const ALLOCATOR_NAMES[] = {"caching", "malloc", "async", "arena", NULL};

static const allocator_ops_t *const OPS[] = {&ALLOCATOR_OPS_CACHING, &ALLOCATOR_OPS_MALLOC,
                                             &ALLOCATOR_OPS_ASYNC, &ALLOCATOR_OPS_ARENA};

/* Far above any device's memory, far below where sums of sizes overflow. */
static const size_t MAX_BYTES = (size_t)1 << 40;

status_t allocator_open(allocator_kind_t kind, const cuda_api_t *api, cu_device_t device,
                        allocator_t **allocator, error_t *err) {
    allocator_t *a = mem_zeroed(1, sizeof *a);
    a->ops = OPS[kind];
    a->api = api;
    a->device = device;
    a->state = a->ops->state_bytes > 0 ? mem_zeroed(1, a->ops->state_bytes) : NULL;
    *allocator = a;
    if (a->ops->open == NULL || a->ops->open(a, err) == STATUS_OK)
        return STATUS_OK;
    free(a->state);
    free(a);
    *allocator = NULL;
    return err->status;
}

void allocator_close(allocator_t *allocator) {
    if (allocator == NULL)
        return;
    if (allocator->ops->close != NULL)
        allocator->ops->close(allocator);
    address_map_free(&allocator->blocks);
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

status_t allocator_begin(allocator_t *allocator, error_t *err) {
    return allocator->ops->begin != NULL ? allocator->ops->begin(allocator, err) : STATUS_OK;
}

status_t allocator_end(allocator_t *allocator, error_t *err) {
    return allocator->ops->end != NULL ? allocator->ops->end(allocator, err) : STATUS_OK;
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

json_t *allocator_stats_json(const allocator_stats_t *stats) {
    return json_pack("{sI sI sI sI sI sI sI sI sI sf}", "driver_calls",
                     (json_int_t)stats->driver_calls, "calls", (json_int_t)stats->calls, "hits",
                     (json_int_t)stats->hits, "retries", (json_int_t)stats->retries,
                     "reserved_bytes", (json_int_t)stats->reserved_bytes, "peak_reserved_bytes",
                     (json_int_t)stats->peak_reserved_bytes, "allocated_bytes",
                     (json_int_t)stats->allocated_bytes, "peak_bytes",
                     (json_int_t)stats->peak_allocated_bytes, "largest_free_bytes",
                     (json_int_t)stats->largest_free_bytes, "fragmentation", stats->fragmentation);
}
