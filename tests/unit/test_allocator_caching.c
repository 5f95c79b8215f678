/* The caching allocator step by step, on a fake device. Long random traces: test_allocator_traces.
 */
#include "allocators/allocator.h"
#include "checks.h"
#include "fake_device.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static allocator_t *allocator;

static void open_with(size_t memory_bytes) {
    fake_open(memory_bytes);
    assert_ok(allocator_open(ALLOCATOR_CACHING, &fake.api, 0, &allocator, &err));
}

static int open_plain(void **state) {
    open_with(1024 * MIB);
    return 0;
}

static int close_all(void **state) {
    allocator_close(allocator);
    fake_close();
    return 0;
}

static cu_pointer_t take_on(size_t bytes, size_t stream) {
    cu_pointer_t address;
    assert_ok(allocator_allocate(allocator, bytes, fake_stream(stream), &address, &err));
    assert_int_equal(address % ALLOCATOR_ALIGNMENT, 0);
    return address;
}

static cu_pointer_t take(size_t bytes) {
    return take_on(bytes, 0);
}

static void give_on(cu_pointer_t address, size_t stream) {
    fake_work(fake_stream(stream)); /* that uses the block */
    assert_ok(allocator_free(allocator, address, fake_stream(stream), &err));
}

static void give(cu_pointer_t address) {
    give_on(address, 0);
}

static void test_sizes_of_segments(void **state) {
    static const struct {
        size_t bytes, segment_bytes;
    } SIZES[] = {{1, 2 * MIB},         {MIB, 2 * MIB},
                 {MIB + 1, 20 * MIB},  {10 * MIB - 1024, 20 * MIB},
                 {10 * MIB, 10 * MIB}, {10 * MIB + 1, 12 * MIB},
                 {41 * MIB, 42 * MIB}};
    for (size_t i = 0; i < COUNT_OF(SIZES); i++) {
        size_t before_bytes = fake.taken_bytes;
        cu_pointer_t address = take(SIZES[i].bytes);
        assert_int_equal(fake.taken_bytes - before_bytes, SIZES[i].segment_bytes);
        give(address);
        close_all(NULL);
        open_plain(NULL);
    }
}

/* Training in small: what the first step has taken from the driver does for all that follow. */
static void test_driver_is_called_in_the_first_step_only(void **state) {
    static const size_t SIZES[] = {200704, 200704, 2560, 2458624, 3136, 200704, 2458624, 31360};
    enum { N = COUNT_OF(SIZES) };
    for (unsigned step = 0; step < 3; step++) {
        cu_pointer_t blocks[N];
        size_t part = step == 2 ? 2 : 1; /* the last batch is smaller */
        for (size_t i = 0; i < N; i++)
            blocks[i] = take(SIZES[i] / part);
        for (size_t i = N; i-- > 0;)
            give(blocks[i]);
        allocator_stats_t stats = allocator_stats(allocator);
        assert_int_equal(stats.calls, N);
        assert_int_equal(stats.driver_calls, step == 0 ? 2 : 0); /* a small segment, a large one */
        assert_int_equal(stats.hits, stats.calls - stats.driver_calls);
        if (step == 0) {
            assert_int_equal(stats.reserved_bytes, 22 * MIB);
            assert_near(stats.fragmentation, 1 - (double)stats.peak_allocated_bytes / (22.0 * MIB),
                        1e-12);
        }
        allocator_epoch(allocator);
        assert_int_equal(allocator_stats(allocator).peak_allocated_bytes, 0);
        assert_int_equal(allocator_stats(allocator).peak_reserved_bytes, 22 * MIB);
    }
    assert_int_equal(fake.n_records, 0); /* one stream: no events */
}

static void test_other_stream_waits_for_the_event(void **state) {
    take_on(512, 1); /* there are two streams */
    cu_pointer_t a = take_on(12 * MIB, 0);
    give_on(a, 0);
    assert_int_equal(take_on(12 * MIB, 0), a); /* its own stream: at once */
    give_on(a, 0);
    cu_pointer_t b = take_on(12 * MIB, 1); /* stream 0 is not done with it */
    assert_int_not_equal(b, a);
    give_on(b, 1);
    fake_done(fake_stream(0));
    assert_int_equal(take_on(11 * MIB, 2), a); /* a third stream may have it now, but not b */
    fake_done(fake_stream(1));
    assert_int_equal(take_on(12 * MIB, 0), b);
}

/* Memory that became free when there was only one stream is marked when a second one comes. */
static void test_second_stream_comes_late(void **state) {
    cu_pointer_t a = take_on(12 * MIB, 0);
    give_on(a, 0);
    cu_pointer_t b = take_on(12 * MIB, 1);
    assert_int_not_equal(b, a);
    fake_done(fake_stream(0));
    assert_int_equal(take_on(12 * MIB, 1), a);
}

static void test_given_back_on_another_stream(void **state) {
    cu_pointer_t a = take_on(512 * KIB, 0);
    give_on(a, 1); /* stream 1 still reads it */
    cu_pointer_t b = take_on(512 * KIB, 0);
    assert_int_not_equal(b, a);
    fake_done(fake_stream(0));
    assert_int_not_equal(take_on(512 * KIB, 0), a);
    fake_done(fake_stream(1));
    assert_int_equal(take_on(512 * KIB, 0), a);
    assert_int_equal(fake.n_allocs, 1);
}

static void check_refused(size_t bytes, const char *expected) {
    cu_pointer_t address = 1;
    assert_fails(allocator_allocate(allocator, bytes, fake_stream(0), &address, &err),
                 STATUS_FAILED, expected);
    assert_int_equal(address, 0);
}

/* 64 MiB, of which the cache holds 60 when 30 in one piece are asked for. */
static void test_out_of_memory_empties_the_cache(void **state) {
    allocator_close(allocator);
    fake_close();
    open_with(64 * MIB);
    cu_pointer_t blocks[3];
    for (size_t i = 0; i < 3; i++)
        blocks[i] = take(20 * MIB);
    for (size_t i = 0; i < 3; i++)
        give(blocks[i]);
    cu_pointer_t large = take(30 * MIB);
    assert_int_equal(allocator_stats(allocator).retries, 1);
    assert_int_equal(fake.taken_bytes, 30 * MIB);
    assert_int_equal(fake.n_syncs, 1);
    check_refused(40 * MIB,
                  "out of device memory: could not allocate 41.9 MB (41.9 MB from the driver); "
                  "31.5 MB allocated, 31.5 MB reserved, largest free block 0 B");
    give(large);
    give(take(40 * MIB)); /* the failure has left everything as it was */
}

/* The end of waiting, which running out of memory brings, can be enough. */
static void test_waiting_blocks_serve_a_retry(void **state) {
    allocator_close(allocator);
    fake_close();
    open_with(20 * MIB);
    cu_pointer_t a = take_on(9 * MIB, 0), b = take_on(9 * MIB, 0);
    give_on(b, 1);
    assert_int_equal(take_on(9 * MIB, 0), b);
    assert_int_equal(allocator_stats(allocator).retries, 1);
    assert_int_equal(fake.n_releases, 0);
    give_on(a, 0);
}

static void test_wrong_use(void **state) {
    cu_pointer_t a = take(512);
    check_refused(0, "an allocation of 0 bytes; expected 1 to 1099511627776");
    check_refused(((size_t)1 << 40) + 1,
                  "an allocation of 1099511627777 bytes; expected 1 to 1099511627776");
    assert_fails(allocator_free(allocator, a + 256, fake_stream(0), &err), STATUS_FAILED,
                 "0x7f0000000100 was freed but is not in use: freed twice, or never allocated");
    give(a);
    assert_fails_with(allocator_free(allocator, a, fake_stream(0), &err), STATUS_FAILED,
                      "freed twice");
}

static void test_driver_that_fails(void **state) {
    fake.broken = FAKE_FAULT;
    check_refused(512, "cuMemAlloc: FAULT (700): FAULT");
    fake.broken = CU_SUCCESS;
    cu_pointer_t a = take_on(512, 0);
    fake.broken = FAKE_FAULT; /* no event: the block stays the caller's */
    assert_fails(allocator_free(allocator, a, fake_stream(1), &err), STATUS_FAILED,
                 "event_create: FAULT (700): FAULT");
    fake.broken = CU_SUCCESS;
    give(a);
}

#define SET_UP open_plain
#define TEAR_DOWN close_all
#include "run_tests.h"
