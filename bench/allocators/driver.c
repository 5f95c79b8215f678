/* The driver's own allocators: a call for each block. */
#include "allocators/allocator_internal.h"
#include "base/memory.h"

#include <stdlib.h>

/* ---- malloc ---------------------------------------------------------------------------------- */

/* The driver does not report what it rounds up to: what is reserved is what was asked for. */

static status_t malloc_allocate(allocator_t *a, size_t bytes, cu_stream_t stream,
                                cu_pointer_t *address, error_t *err) {
    (void)stream;
    cu_result_t result = allocator_reserve(a, bytes, address);
    if (result != CU_SUCCESS)
        return allocator_refused(a, result, bytes, bytes, "cuMemAlloc", err);
    address_map_add(&a->live, *address, bytes);
    return STATUS_OK;
}

static status_t malloc_release(allocator_t *a, cu_pointer_t address, cu_stream_t stream,
                               size_t *bytes, error_t *err) {
    (void)stream;
    uint64_t value;
    if (!address_map_take(&a->live, address, &value))
        return allocator_not_live(address, err);
    *bytes = value;
    return allocator_unreserve(a, address, *bytes, err);
}

static void malloc_close(allocator_t *a) {
    error_t ignored = ERROR_INIT;
    for (size_t i = 0; a->live.n > 0 && i < (size_t)1 << a->live.bits; i++)
        if (a->live.entries[i].address != 0)
            allocator_unreserve(a, a->live.entries[i].address, a->live.entries[i].value, &ignored);
}

const allocator_ops_t ALLOCATOR_OPS_MALLOC = {
    .allocate = malloc_allocate, .release = malloc_release, .close = malloc_close};

/* ---- async ----------------------------------------------------------------------------------- */

/* A pool of its own, so that its statistics are those of this allocator alone. */

typedef struct async {
    cu_pool_t pool;
} async_t;

static status_t async_open(allocator_t *a, error_t *err) {
    const cuda_api_t *api = a->api;
    if (api->pool_create == NULL || api->pool_destroy == NULL || api->pool_set == NULL ||
        api->pool_get == NULL || api->pool_trim == NULL || api->pool_alloc_async == NULL ||
        api->release_async == NULL)
        return error_set(err, STATUS_FAILED,
                         "this driver has no memory pools: it is older than CUDA 11.2");
    const cu_pool_properties_t properties = {
        .type = CU_POOL_PINNED, .location_type = CU_POOL_ON_DEVICE, .location = a->options.device};
    async_t *s = mem_zeroed(1, sizeof *s);
    /* By itself a pool gives what is free back to the system at each synchronisation. */
    uint64_t threshold_bytes = UINT64_MAX;
    status_t status = cuda_check(api, api->pool_create(&s->pool, &properties), "pool_create", err);
    if (status == STATUS_OK) {
        status =
            cuda_check(api, api->pool_set(s->pool, CU_POOL_RELEASE_THRESHOLD, &threshold_bytes),
                       "pool_set", err);
        if (status != STATUS_OK)
            api->pool_destroy(s->pool);
    }
    if (status != STATUS_OK) {
        free(s);
        return status;
    }
    a->state = s;
    return STATUS_OK;
}

/* What the pool holds is known only when it is asked, which is too much for each call: the limit is
 * on what is in use. */
static status_t async_allocate(allocator_t *a, size_t bytes, cu_stream_t stream,
                               cu_pointer_t *address, error_t *err) {
    const async_t *s = a->state;
    if (allocator_over_limit(a, bytes))
        return allocator_refused(a, CU_ERROR_OUT_OF_MEMORY, bytes, bytes, "", err);
    int64_t start_ns = allocator_driver_enter(a);
    cu_result_t result = a->api->pool_alloc_async(address, bytes, s->pool, stream);
    allocator_driver_leave(a, start_ns);
    if (result != CU_SUCCESS) {
        *address = 0;
        return allocator_refused(a, result, bytes, bytes, "cuMemAllocFromPoolAsync", err);
    }
    a->stats.reserved_bytes += bytes;
    address_map_add(&a->live, *address, bytes);
    return STATUS_OK;
}

static status_t async_release(allocator_t *a, cu_pointer_t address, cu_stream_t stream,
                              size_t *bytes, error_t *err) {
    uint64_t value;
    if (!address_map_take(&a->live, address, &value))
        return allocator_not_live(address, err);
    *bytes = value;
    int64_t start_ns = allocator_driver_enter(a);
    cu_result_t result = a->api->release_async(address, stream);
    allocator_driver_leave(a, start_ns);
    a->stats.reserved_bytes -= *bytes;
    return cuda_check(a->api, result, "cuMemFreeAsync", err);
}

static status_t async_trim(allocator_t *a, error_t *err) {
    const async_t *s = a->state;
    TRY(cuda_check(a->api, a->api->context_sync(), "context_sync", err));
    return cuda_check(a->api, a->api->pool_trim(s->pool, 0), "pool_trim", err);
}

static void async_epoch(allocator_t *a) {
    const async_t *s = a->state;
    uint64_t from_here = 0; /* the only value that this attribute takes */
    a->api->pool_set(s->pool, CU_POOL_RESERVED_HIGH, &from_here);
}

static void async_measure(allocator_t *a, allocator_stats_t *stats) {
    const async_t *s = a->state;
    uint64_t reserved_bytes, high_bytes;
    if (a->api->pool_get(s->pool, CU_POOL_RESERVED_CURRENT, &reserved_bytes) != CU_SUCCESS ||
        a->api->pool_get(s->pool, CU_POOL_RESERVED_HIGH, &high_bytes) != CU_SUCCESS)
        return;
    stats->reserved_bytes = reserved_bytes;
    stats->peak_reserved_bytes = high_bytes > reserved_bytes ? high_bytes : reserved_bytes;
}

static void async_close(allocator_t *a) {
    async_t *s = a->state;
    a->api->context_sync();
    for (size_t i = 0; a->live.n > 0 && i < (size_t)1 << a->live.bits; i++)
        if (a->live.entries[i].address != 0)
            a->api->release(a->live.entries[i].address);
    a->api->pool_destroy(s->pool);
    free(s);
}

const allocator_ops_t ALLOCATOR_OPS_ASYNC = {.open = async_open,
                                             .allocate = async_allocate,
                                             .release = async_release,
                                             .trim = async_trim,
                                             .epoch = async_epoch,
                                             .measure = async_measure,
                                             .close = async_close};
