/* The driver's allocators: one driver call per block. */
#include "allocators/allocator_internal.h"

/* ---- malloc ---------------------------------------------------------------------------------- */

/* Reserved bytes are those requested: the driver does not report what it rounds up to. */

static status_t malloc_allocate(allocator_t *a, size_t bytes, cu_stream_t stream,
                                cu_pointer_t *address, error_t *err) {
    (void)stream;
    cu_result_t result = allocator_reserve(a, bytes, address);
    if (result != CU_SUCCESS)
        return allocator_refused(a, result, bytes, bytes, "cuMemAlloc", err);
    address_map_add(&a->blocks, *address, bytes);
    return STATUS_OK;
}

static status_t malloc_release(allocator_t *a, cu_pointer_t address, cu_stream_t stream,
                               size_t *bytes, error_t *err) {
    (void)stream;
    uint64_t value;
    if (!address_map_take(&a->blocks, address, &value))
        return allocator_unknown_block(address, err);
    *bytes = value;
    return allocator_unreserve(a, address, *bytes, err);
}

static void malloc_close(allocator_t *a) {
    for (const address_entry_t *e = NULL; (e = address_map_next(&a->blocks, e)) != NULL;)
        allocator_unreserve(a, e->address, e->value, NULL);
}

const allocator_ops_t ALLOCATOR_OPS_MALLOC = {
    .allocate = malloc_allocate, .release = malloc_release, .close = malloc_close};

/* ---- async ----------------------------------------------------------------------------------- */

/* A private pool: its statistics cover this allocator only. The state is the cu_pool_t. */

static status_t async_open(allocator_t *a, error_t *err) {
    const cuda_api_t *api = a->api;
    if (api->pool_create == NULL || api->pool_destroy == NULL || api->pool_set == NULL ||
        api->pool_get == NULL || api->pool_alloc_async == NULL || api->release_async == NULL)
        return error_set(err, STATUS_FAILED,
                         "this driver has no memory pools: it is older than CUDA 11.2");
    const cu_pool_properties_t properties = {
        .type = CU_POOL_PINNED, .location_type = CU_POOL_ON_DEVICE, .location = a->device};
    cu_pool_t pool;
    TRY(cuda_check(api, api->pool_create(&pool, &properties), "pool_create", err));
    /* The default, 0, returns free memory to the system at each synchronisation. */
    uint64_t threshold_bytes = UINT64_MAX;
    status_t status = cuda_check(
        api, api->pool_set(pool, CU_POOL_RELEASE_THRESHOLD, &threshold_bytes), "pool_set", err);
    if (status == STATUS_OK)
        a->state = pool;
    else
        api->pool_destroy(pool);
    return status;
}

static status_t async_allocate(allocator_t *a, size_t bytes, cu_stream_t stream,
                               cu_pointer_t *address, error_t *err) {
    a->stats.driver_calls++;
    cu_result_t result = a->api->pool_alloc_async(address, bytes, a->state, stream);
    if (result != CU_SUCCESS) {
        *address = 0;
        return allocator_refused(a, result, bytes, bytes, "cuMemAllocFromPoolAsync", err);
    }
    a->stats.reserved_bytes += bytes;
    address_map_add(&a->blocks, *address, bytes);
    return STATUS_OK;
}

static status_t async_release(allocator_t *a, cu_pointer_t address, cu_stream_t stream,
                              size_t *bytes, error_t *err) {
    uint64_t value;
    if (!address_map_take(&a->blocks, address, &value))
        return allocator_unknown_block(address, err);
    *bytes = value;
    a->stats.driver_calls++;
    cu_result_t result = a->api->release_async(address, stream);
    a->stats.reserved_bytes -= *bytes;
    return cuda_check(a->api, result, "cuMemFreeAsync", err);
}

static void async_epoch(allocator_t *a) {
    uint64_t reset = 0; /* the only value that this attribute accepts */
    a->api->pool_set(a->state, CU_POOL_RESERVED_HIGH, &reset);
}

static void async_measure(allocator_t *a, allocator_stats_t *stats) {
    uint64_t reserved_bytes, high_bytes;
    if (a->api->pool_get(a->state, CU_POOL_RESERVED_CURRENT, &reserved_bytes) != CU_SUCCESS ||
        a->api->pool_get(a->state, CU_POOL_RESERVED_HIGH, &high_bytes) != CU_SUCCESS)
        return;
    stats->reserved_bytes = reserved_bytes;
    stats->peak_reserved_bytes = high_bytes > reserved_bytes ? high_bytes : reserved_bytes;
}

static void async_close(allocator_t *a) {
    a->api->context_sync();
    for (const address_entry_t *e = NULL; (e = address_map_next(&a->blocks, e)) != NULL;)
        a->api->release(e->address);
    a->api->pool_destroy(a->state);
}

const allocator_ops_t ALLOCATOR_OPS_ASYNC = {.open = async_open,
                                             .allocate = async_allocate,
                                             .release = async_release,
                                             .epoch = async_epoch,
                                             .measure = async_measure,
                                             .close = async_close};
