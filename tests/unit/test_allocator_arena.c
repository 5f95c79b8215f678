/* The planned allocator: the plan by itself, and passes on a fake device. */
#include "allocators/allocator.h"
#include "allocators/allocator_internal.h"
#include "checks.h"
#include "dice.h"
#include "fake_device.h"

#define MIB ((size_t)1 << 20)

/* ---- the plan -------------------------------------------------------------------------------- */

static void test_plan_by_hand(void **state) {
    /* A chain in which each block is read while the next is written. The two largest neighbours
     * need 96; the others fit around them. */
    arena_block_t blocks[] = {{.bytes = 32, .from = 0, .to = 3},
                              {.bytes = 64, .from = 1, .to = 5},
                              {.bytes = 32, .from = 4, .to = 7},
                              {.bytes = 16, .from = 6, .to = 9}};
    assert_int_equal(arena_plan(blocks, 4), 96);
    assert_int_equal(blocks[1].offset, 0);
    assert_int_equal(blocks[0].offset, 64);
    assert_int_equal(blocks[2].offset, 64);
    assert_int_equal(blocks[3].offset, 0);
    assert_int_equal(arena_plan(blocks, 0), 0);
}

/* Of two gaps that are large enough, the smaller one. */
static void test_plan_takes_the_smallest_gap(void **state) {
    arena_block_t blocks[] = {{.bytes = 100, .from = 0, .to = 10},
                              {.bytes = 90, .from = 0, .to = 5}, /* leaves a gap of 90 */
                              {.bytes = 80, .from = 0, .to = 10},
                              {.bytes = 70, .from = 0, .to = 5}, /* leaves a gap of 70 */
                              {.bytes = 60, .from = 0, .to = 10},
                              {.bytes = 50, .from = 6, .to = 10}};
    assert_int_equal(arena_plan(blocks, 6), 400);
    assert_int_equal(blocks[3].offset, 270);
    assert_int_equal(blocks[5].offset, 270);
}

static void test_streams_share_nothing(void **state) {
    arena_block_t blocks[] = {{.bytes = 512, .from = 0, .to = 1, .stream = fake_stream(0)},
                              {.bytes = 512, .from = 2, .to = 3, .stream = fake_stream(1)},
                              {.bytes = 512, .from = 4, .to = 5, .stream = fake_stream(0)}};
    assert_int_equal(arena_plan(blocks, 3), 1024);
    assert_int_equal(blocks[0].offset, blocks[2].offset);
    assert_int_not_equal(blocks[0].offset, blocks[1].offset);
}

static bool meet(const arena_block_t *a, const arena_block_t *b) {
    return a->from < b->to && b->from < a->to;
}

static void test_random_plans(void **state) {
    enum { N = 200 };
    for (uint64_t seed = 1; seed <= 50; seed++) {
        dice_t dice = {.seed = seed};
        arena_block_t blocks[N];
        size_t sum_bytes = 0, peak_bytes = 0;
        for (size_t i = 0; i < N; i++) {
            size_t from = throw_below(&dice, 1000);
            blocks[i] = (arena_block_t){.bytes = 512 * (1 + throw_below(&dice, 100)),
                                        .from = from,
                                        .to = from + 1 + throw_below(&dice, 200)};
            sum_bytes += blocks[i].bytes;
        }
        size_t whole_bytes = arena_plan(blocks, N);
        for (size_t i = 0; i < N; i++) {
            size_t here_bytes = 0; /* in use when block i comes: some block brings the peak */
            for (size_t j = 0; j < N; j++) {
                const arena_block_t *a = &blocks[i], *b = &blocks[j];
                if (b->from <= a->from && a->from < b->to)
                    here_bytes += b->bytes;
                if (j < i && meet(a, b) && a->offset < b->offset + b->bytes &&
                    b->offset < a->offset + a->bytes)
                    fail_msg("seed %" PRIu64 ": blocks %zu and %zu overlap", seed, i, j);
            }
            assert_true(blocks[i].offset + blocks[i].bytes <= whole_bytes);
            peak_bytes = here_bytes > peak_bytes ? here_bytes : peak_bytes;
        }
        assert_in_range(whole_bytes, peak_bytes, sum_bytes);
        if (10 * whole_bytes > 13 * peak_bytes)
            fail_msg("seed %" PRIu64 ": %zu bytes where %zu are in use at most", seed, whole_bytes,
                     peak_bytes);
    }
}

/* ---- passes ---------------------------------------------------------------------------------- */

static allocator_t *allocator;

static int open_arena(void **state) {
    fake_open(8 * MIB);
    assert_ok(allocator_open(ALLOCATOR_ARENA, &fake.api, 0, &allocator, &err));
    return 0;
}

static int close_arena(void **state) {
    allocator_close(allocator);
    fake_close();
    return 0;
}

static cu_pointer_t take(size_t bytes) {
    cu_pointer_t address;
    assert_ok(allocator_allocate(allocator, bytes, fake_stream(0), &address, &err));
    assert_int_equal(address % ALLOCATOR_ALIGNMENT, 0);
    return address;
}

static void give(cu_pointer_t address) {
    assert_ok(allocator_free(allocator, address, fake_stream(0), &err));
}

static void begin(void) {
    assert_ok(allocator_begin(allocator, &err));
}

static void end(void) {
    assert_ok(allocator_end(allocator, &err));
}

/* A forward pass that keeps its outputs, then a backward pass that frees them. */
static void train_step(size_t bytes, cu_pointer_t addresses[4]) {
    begin();
    for (size_t i = 0; i < 3; i++)
        addresses[i] = take(bytes << i);
    give(addresses[2]);
    addresses[3] = take(bytes);
    give(addresses[1]);
    give(addresses[3]);
    give(addresses[0]);
    end();
}

static void test_later_passes_only_look_up(void **state) {
    cu_pointer_t first[4], second[4], third[4];
    train_step(1024, first);
    allocator_stats_t stats = allocator_stats(allocator);
    assert_int_equal(stats.driver_calls, 4 + 4 + 1);
    assert_int_equal(stats.reserved_bytes, 7 * 1024);
    assert_int_equal(fake.taken_bytes, 7 * 1024);
    allocator_epoch(allocator);
    train_step(1024, second);
    stats = allocator_stats(allocator);
    assert_int_equal(stats.driver_calls, 0);
    assert_int_equal(stats.calls, 4);
    assert_int_equal(stats.hits, 4);
    assert_int_equal(stats.peak_allocated_bytes, 7 * 1024);
    assert_near(stats.fragmentation, 0, 0);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(second[i] + (1024u << i) <= second[j] ||
                        second[j] + (1024u << j) <= second[i]);
    train_step(512, third); /* the last batch is smaller and has the same places */
    assert_memory_equal(second, third, sizeof second);
    assert_int_equal(allocator_stats(allocator).allocated_bytes, 0);
}

static void test_deviations(void **state) {
    cu_pointer_t addresses[4], address;
    train_step(1024, addresses);
    train_step(1024, addresses);
    begin();
    assert_fails_with(allocator_allocate(allocator, 1025, fake_stream(0), &address, &err),
                      STATUS_FAILED,
                      "arena: call 0 of the pass is an allocation (1536 bytes, stream 0x");
    assert_fails_with(allocator_allocate(allocator, 1024, fake_stream(1), &address, &err),
                      STATUS_FAILED, ", expected the allocation of block 0 (1024 bytes, stream 0x");
    assert_int_equal(take(1024), addresses[0]);
    assert_fails_with(allocator_free(allocator, addresses[0], fake_stream(0), &err), STATUS_FAILED,
                      "arena: call 1 of the pass is the release of 0x7f");
    assert_fails_with(
        allocator_end(allocator, &err), STATUS_FAILED,
        "arena: call 1 of the pass is the end of the pass, expected the allocation of "
        "block 1 (2048 bytes");
    take(2048);
    take(4096);
    assert_fails_with(allocator_free(allocator, addresses[1], fake_stream(0), &err), STATUS_FAILED,
                      "expected the release of block 2 (4096 bytes");
    give(addresses[2]);
    take(1024);
    give(addresses[1]);
    give(addresses[3]);
    give(addresses[0]);
    assert_fails_with(allocator_allocate(allocator, 512, fake_stream(0), &address, &err),
                      STATUS_FAILED, "expected the end of the pass");
    end();
}

static void test_wrong_use(void **state) {
    cu_pointer_t address;
    assert_fails_with(allocator_allocate(allocator, 1, fake_stream(0), &address, &err),
                      STATUS_FAILED, "arena: allocation outside a pass");
    assert_fails_with(allocator_end(allocator, &err), STATUS_FAILED, "arena: end outside a pass");
    begin();
    assert_fails_with(allocator_begin(allocator, &err), STATUS_FAILED,
                      "arena: a pass begins while one is open");
    address = take(512);
    assert_fails_with(allocator_free(allocator, address, fake_stream(1), &err), STATUS_FAILED,
                      "arena: block 0 was freed on another stream");
    assert_fails_with(allocator_free(allocator, address + 1, fake_stream(0), &err), STATUS_FAILED,
                      "was freed but is not in use");
    assert_fails_with(allocator_end(allocator, &err), STATUS_FAILED,
                      "arena: 1 blocks in use at the end of the pass");
} /* the block goes back when the arena closes */

static void test_out_of_memory(void **state) {
    cu_pointer_t address;
    begin();
    take(6 * MIB);
    assert_fails_with(allocator_allocate(allocator, 3 * MIB, fake_stream(0), &address, &err),
                      STATUS_FAILED,
                      "out of device memory: could not allocate 3.15 MB (3.15 MB from the driver); "
                      "6.29 MB allocated, 6.29 MB reserved");
}

#define SET_UP open_arena
#define TEAR_DOWN close_arena
#include "run_tests.h"
