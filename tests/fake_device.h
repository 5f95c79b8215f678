/* A device for tests of allocators: a driver whose memory is an address space and nothing else, and
 * whose streams finish their work when the test says so. Everything it is asked is counted, and
 * what no driver would survive is a failure at once. */
#ifndef TESTS_FAKE_DEVICE_H
#define TESTS_FAKE_DEVICE_H

#include "checks.h"
#include "cuda/driver.h"

#include <inttypes.h>

enum { FAKE_STREAMS = 4, FAKE_UNIT = 512, FAKE_FAULT = 700 };

/* A stream is work numbered 1, 2, 3 …, done up to some number. */
struct CUstream_st {
    uint64_t queued, done;
};

struct CUevent_st {
    cu_stream_t stream;
    uint64_t after; /* work of the stream */
};

struct CUmemPoolHandle_st {
    uint64_t threshold_bytes, reserved_bytes, high_bytes;
};

typedef struct fake_range {
    cu_pointer_t address;
    size_t bytes;
    bool taken; /* a free range keeps its place and may be taken by a request of its size */
} fake_range_t;

typedef struct fake_device {
    cuda_api_t api;
    struct CUstream_st streams[FAKE_STREAMS];
    struct CUmemPoolHandle_st pool;
    fake_range_t *ranges;
    size_t n_ranges, ranges_capacity;
    cu_pointer_t end; /* of the address space that was ever used */
    size_t memory_bytes, taken_bytes;
    size_t n_allocs, n_releases, n_syncs, n_events, n_records, n_queries;
    bool pool_alive;
    cu_result_t broken; /* what the next call of any kind returns */
    void (*before_release)(cu_pointer_t address, size_t bytes);
} fake_device_t;

static fake_device_t fake; /* the driver's functions have no context */

static const cu_pointer_t FAKE_BASE = 0x7F0000000000;

static cu_result_t fake_take(cu_pointer_t *address, size_t bytes) {
    size_t rounded_bytes = (bytes + FAKE_UNIT - 1) / FAKE_UNIT * FAKE_UNIT;
    assert_true(bytes > 0);
    if (fake.broken != CU_SUCCESS)
        return fake.broken;
    if (rounded_bytes > fake.memory_bytes - fake.taken_bytes)
        return CU_ERROR_OUT_OF_MEMORY;
    fake.taken_bytes += rounded_bytes;
    for (size_t i = 0; i < fake.n_ranges; i++)
        if (!fake.ranges[i].taken && fake.ranges[i].bytes == rounded_bytes) {
            fake.ranges[i].taken = true;
            *address = fake.ranges[i].address;
            return CU_SUCCESS;
        }
    /* Without a gap: nothing may be coalesced across. */
    mem_grow(&fake.ranges, fake.n_ranges, &fake.ranges_capacity, sizeof *fake.ranges);
    fake.ranges[fake.n_ranges++] = (fake_range_t){fake.end, rounded_bytes, true};
    *address = fake.end;
    fake.end += rounded_bytes;
    return CU_SUCCESS;
}

static cu_result_t fake_give_back(cu_pointer_t address) {
    if (fake.broken != CU_SUCCESS)
        return fake.broken;
    for (size_t i = 0; i < fake.n_ranges; i++)
        if (fake.ranges[i].address == address && fake.ranges[i].taken) {
            if (fake.before_release != NULL)
                fake.before_release(address, fake.ranges[i].bytes);
            fake.ranges[i].taken = false;
            fake.taken_bytes -= fake.ranges[i].bytes;
            return CU_SUCCESS;
        }
    fail_msg("the driver was given back 0x%" PRIx64 ", which it has not given", address);
    return CU_SUCCESS;
}

static cu_result_t fake_alloc(cu_pointer_t *address, size_t bytes) {
    fake.n_allocs++;
    return fake_take(address, bytes);
}

static cu_result_t fake_context_sync(void) {
    fake.n_syncs++;
    for (size_t i = 0; i < FAKE_STREAMS; i++)
        fake.streams[i].done = fake.streams[i].queued;
    return fake.broken;
}

static cu_result_t fake_release(cu_pointer_t address) {
    fake.n_releases++;
    return fake_give_back(address);
}

static cu_result_t fake_event_create(cu_event_t *event, unsigned flags) {
    assert_int_equal(flags, CU_EVENT_NO_TIMING);
    if (fake.broken != CU_SUCCESS)
        return fake.broken;
    *event = mem_zeroed(1, sizeof **event);
    fake.n_events++;
    return CU_SUCCESS;
}

static cu_result_t fake_event_destroy(cu_event_t event) {
    free(event);
    fake.n_events--;
    return CU_SUCCESS;
}

static cu_result_t fake_event_record(cu_event_t event, cu_stream_t stream) {
    event->stream = stream;
    event->after = stream->queued;
    fake.n_records++;
    return fake.broken;
}

static cu_result_t fake_event_query(cu_event_t event) {
    assert_non_null(event->stream); /* recorded once */
    fake.n_queries++;
    if (fake.broken != CU_SUCCESS)
        return fake.broken;
    return event->stream->done >= event->after ? CU_SUCCESS : CU_ERROR_NOT_READY;
}

static cu_result_t fake_error_text(cu_result_t result, const char **text) {
    *text = result == CU_ERROR_OUT_OF_MEMORY ? "OUT_OF_MEMORY" : "FAULT";
    return CU_SUCCESS;
}

/* ---- the pool: as much as the driver's allocator needs of one -------------------------------- */

static cu_result_t fake_pool_create(cu_pool_t *pool, const cu_pool_properties_t *properties) {
    assert_int_equal(sizeof *properties, 88); /* CUmemPoolProps of CUDA 11.2 to 13 */
    assert_int_equal(properties->type, CU_POOL_PINNED);
    assert_int_equal(properties->location_type, CU_POOL_ON_DEVICE);
    assert_false(fake.pool_alive);
    fake.pool_alive = true;
    *pool = &fake.pool;
    return CU_SUCCESS;
}

static cu_result_t fake_pool_destroy(cu_pool_t pool) {
    assert_ptr_equal(pool, &fake.pool);
    assert_true(fake.pool_alive);
    fake.pool_alive = false;
    return CU_SUCCESS;
}

static cu_result_t fake_pool_set(cu_pool_t pool, int attribute, void *value) {
    if (attribute == CU_POOL_RELEASE_THRESHOLD)
        pool->threshold_bytes = *(uint64_t *)value;
    else if (attribute == CU_POOL_RESERVED_HIGH)
        pool->high_bytes = pool->reserved_bytes;
    else
        fail_msg("pool attribute %d", attribute);
    return CU_SUCCESS;
}

static cu_result_t fake_pool_get(cu_pool_t pool, int attribute, void *value) {
    *(uint64_t *)value =
        attribute == CU_POOL_RESERVED_CURRENT ? pool->reserved_bytes : pool->high_bytes;
    return CU_SUCCESS;
}

static cu_result_t fake_pool_alloc(cu_pointer_t *address, size_t bytes, cu_pool_t pool,
                                   cu_stream_t stream) {
    assert_non_null(stream);
    cu_result_t result = fake_alloc(address, bytes);
    if (fake.taken_bytes > pool->reserved_bytes) /* what is free stays reserved */
        pool->reserved_bytes = fake.taken_bytes;
    if (pool->reserved_bytes > pool->high_bytes)
        pool->high_bytes = pool->reserved_bytes;
    return result;
}

static cu_result_t fake_release_async(cu_pointer_t address, cu_stream_t stream) {
    assert_non_null(stream);
    return fake_release(address);
}

/* An idle device with so much memory; forgets everything before. */
static inline void fake_open(size_t memory_bytes) {
    fake = (fake_device_t){.memory_bytes = memory_bytes, .end = FAKE_BASE};
    fake.api = (cuda_api_t){
        .alloc = fake_alloc,
        .release = fake_release,
        .context_sync = fake_context_sync,
        .event_create = fake_event_create,
        .event_destroy = fake_event_destroy,
        .event_record = fake_event_record,
        .event_query = fake_event_query,
        .error_name = fake_error_text,
        .error_string = fake_error_text,
        .pool_create = fake_pool_create,
        .pool_destroy = fake_pool_destroy,
        .pool_set = fake_pool_set,
        .pool_get = fake_pool_get,
        .pool_alloc_async = fake_pool_alloc,
        .release_async = fake_release_async,
    };
}

/* Nothing that was ever taken is left. */
static inline void fake_close(void) {
    assert_int_equal(fake.taken_bytes, 0);
    assert_int_equal(fake.n_events, 0);
    assert_false(fake.pool_alive);
    free(fake.ranges);
    fake = (fake_device_t){0};
}

static inline cu_stream_t fake_stream(size_t index) {
    return &fake.streams[index];
}

/* Queue work on a stream; it is done when fake_done() says so. */
static inline uint64_t fake_work(cu_stream_t stream) {
    return ++stream->queued;
}

static inline void fake_done(cu_stream_t stream) {
    stream->done = stream->queued;
}

#endif
