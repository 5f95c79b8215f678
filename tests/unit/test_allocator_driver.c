/* The driver's own allocators on a fake device, what is common to all four, and the map of
 * addresses. */
#include "allocators/allocator.h"
#include "allocators/allocator_internal.h"
#include "checks.h"
#include "dice.h"
#include "fake_device.h"

#define MIB ((size_t)1 << 20)

static allocator_t *open_kind(allocator_kind_t kind) {
    allocator_t *allocator;
    assert_ok(allocator_open(kind, &fake.api, 0, &allocator, &err));
    return allocator;
}

static cu_pointer_t take(allocator_t *allocator, size_t bytes) {
    cu_pointer_t address;
    assert_ok(allocator_allocate(allocator, bytes, fake_stream(0), &address, &err));
    return address;
}

static void give(allocator_t *allocator, cu_pointer_t address) {
    assert_ok(allocator_free(allocator, address, fake_stream(0), &err));
}

static void test_a_driver_call_for_each(void **state) {
    static const allocator_kind_t KINDS[] = {ALLOCATOR_MALLOC, ALLOCATOR_ASYNC};
    for (size_t k = 0; k < 2; k++) {
        fake_open(64 * MIB);
        allocator_t *allocator = open_kind(KINDS[k]);
        cu_pointer_t a = take(allocator, 1000), b = take(allocator, MIB);
        give(allocator, a);
        allocator_stats_t stats = allocator_stats(allocator);
        assert_int_equal(fake.n_allocs, 2);
        assert_int_equal(fake.n_releases, 1);
        assert_int_equal(stats.calls, 2);
        assert_int_equal(stats.hits, 0);
        assert_int_equal(stats.driver_calls, 3);
        assert_int_equal(stats.allocated_bytes, MIB);
        assert_int_equal(stats.peak_allocated_bytes, MIB + 1024);
        assert_int_equal(stats.reserved_bytes, KINDS[k] == ALLOCATOR_ASYNC ? MIB + 1024 : MIB);
        assert_near(stats.fragmentation, 0, 0);
        assert_fails_with(allocator_free(allocator, a, fake_stream(0), &err), STATUS_FAILED,
                          "freed twice");
        assert_int_equal(fake.n_releases, 1);
        assert_fails_with(allocator_allocate(allocator, 63 * MIB + 1, fake_stream(0), &a, &err),
                          STATUS_FAILED, "out of device memory: could not allocate 66.1 MB");
        assert_int_equal(a, 0);
        allocator_epoch(allocator);
        stats = allocator_stats(allocator);
        assert_int_equal(stats.calls + stats.driver_calls, 0);
        assert_int_equal(stats.peak_allocated_bytes, MIB);
        (void)b; /* goes back when the allocator closes */
        allocator_close(allocator);
        fake_close();
    }
}

static void test_pool_keeps(void **state) {
    fake_open(64 * MIB);
    allocator_t *allocator = open_kind(ALLOCATOR_ASYNC);
    assert_true(fake.pool.threshold_bytes == UINT64_MAX);
    give(allocator, take(allocator, 4 * MIB));
    give(allocator, take(allocator, MIB));
    assert_int_equal(allocator_stats(allocator).peak_reserved_bytes, 4 * MIB);
    fake.pool.reserved_bytes = 0; /* the driver may give it back */
    allocator_epoch(allocator);
    give(allocator, take(allocator, MIB));
    assert_int_equal(allocator_stats(allocator).peak_reserved_bytes, MIB);
    allocator_close(allocator);
    fake_close();
}

static void test_driver_without_pools(void **state) {
    allocator_t *allocator;
    fake_open(MIB);
    fake.api.pool_create = NULL;
    assert_fails(allocator_open(ALLOCATOR_ASYNC, &fake.api, 0, &allocator, &err), STATUS_FAILED,
                 "this driver has no memory pools: it is older than CUDA 11.2");
    assert_null(allocator);
    fake_close();
    allocator_close(NULL);
}

/* Whatever is known of passes, each kind takes the same calls. */
static void test_one_interface(void **state) {
    size_t n_kinds = 0;
    for (; ALLOCATOR_NAMES[n_kinds] != NULL; n_kinds++) {
        fake_open(64 * MIB);
        allocator_t *allocator = open_kind((allocator_kind_t)n_kinds);
        for (unsigned epoch = 0; epoch < 3; epoch++) {
            allocator_epoch(allocator);
            for (unsigned step = 0; step < 5; step++) {
                assert_ok(allocator_begin(allocator, &err));
                cu_pointer_t a = take(allocator, 2000 - step), b = take(allocator, 3 * MIB);
                give(allocator, a);
                give(allocator, b);
                assert_ok(allocator_end(allocator, &err));
            }
            allocator_stats_t stats = allocator_stats(allocator);
            assert_int_equal(stats.calls, 10);
            assert_int_equal(stats.peak_allocated_bytes, 2048 + 3 * MIB);
            bool keeps = n_kinds == ALLOCATOR_CACHING || n_kinds == ALLOCATOR_ARENA;
            if (keeps && epoch > 0)
                assert_int_equal(stats.driver_calls, 0);
            if (!keeps)
                assert_int_equal(stats.driver_calls, 20);
        }
        allocator_close(allocator);
        fake_close();
    }
    assert_int_equal(n_kinds, 4);
}

static void test_statistics_as_json(void **state) {
    const allocator_stats_t stats = {.calls = 7,
                                     .hits = 5,
                                     .driver_calls = 3,
                                     .allocated_bytes = 1,
                                     .peak_allocated_bytes = 2,
                                     .reserved_bytes = 5000000000,
                                     .peak_reserved_bytes = 6000000000,
                                     .largest_free_bytes = 9,
                                     .retries = 8,
                                     .fragmentation = 0.25};
    json_auto_t *json = allocator_stats_json(&stats);
    AUTO_FREE char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, "{\"allocated_bytes\":1,\"calls\":7,\"driver_calls\":3,"
                              "\"fragmentation\":0.25,\"hits\":5,"
                              "\"largest_free_bytes\":9,\"peak_bytes\":2,"
                              "\"peak_reserved_bytes\":6000000000,\"reserved_bytes\":5000000000,"
                              "\"retries\":8}");
}

/* Against an array: addresses as allocators have them, and few of them, so that they meet. */
static void test_address_map(void **state) {
    enum { N = 3000 };
    AUTO(address_map_free) address_map_t map = {0};
    uint64_t value, values[N] = {0};
    dice_t dice = {.seed = 1};
    size_t n = 0;
    assert_false(address_map_get(&map, 512, &value));
    assert_false(address_map_take(&map, 512, &value));
    for (size_t step = 0; step < 100000; step++) {
        uint32_t i = throw_below(&dice, N);
        uint64_t address = FAKE_BASE + 512 * (uint64_t)i * (i % 3 == 0 ? 4096 : 1) + 512;
        if (values[i] == 0) {
            address_map_add(&map, address, values[i] = step + 1);
            n++;
        } else if (throw_below(&dice, 2) == 0) {
            assert_true(address_map_get(&map, address, &value));
            assert_int_equal(value, values[i]);
        } else {
            assert_true(address_map_take(&map, address, &value));
            assert_int_equal(value, values[i]);
            assert_false(address_map_get(&map, address, &value));
            values[i] = 0;
            n--;
        }
        assert_int_equal(map.n, n);
    }
}

#include "run_tests.h"
