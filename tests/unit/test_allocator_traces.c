/* Long random traces through the caching allocator, each call checked.
 *
 * The shadow knows of every 512 bytes of the device who has them, and who was the last to have them
 * until when: no two blocks overlap, no block lies outside of what the driver gave, and what a
 * stream gets is not in use any more by the work of another. */
#include "allocators/allocator.h"
#include "checks.h"
#include "dice.h"
#include "fake_device.h"

#define MIB ((size_t)1 << 20)

/* ---- the shadow ------------------------------------------------------------------------------ */

typedef struct unit {
    uint32_t owner; /* number of the live block + 1; 0: free */
    uint16_t given; /* by the driver */
    uint16_t last_stream;
    uint64_t last_work; /* of that stream, which used it last */
} unit_t;

static unit_t *units;
static size_t n_units;
static dice_t dice;
static size_t step;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("seed %" PRIu64 ", step %zu: %s", dice.seed, step, #condition);               \
    } while (0)

static unit_t *unit_at(cu_pointer_t address) {
    EXPECT(address >= FAKE_BASE && (address - FAKE_BASE) / FAKE_UNIT < n_units);
    return &units[(address - FAKE_BASE) / FAKE_UNIT];
}

static size_t units_of(size_t bytes) {
    return (bytes + FAKE_UNIT - 1) / FAKE_UNIT;
}

static cu_result_t given_alloc(cu_pointer_t *address, size_t bytes) {
    cu_result_t result = fake_alloc(address, bytes);
    for (size_t i = 0; result == CU_SUCCESS && i < units_of(bytes); i++)
        unit_at(*address + i * FAKE_UNIT)->given = 1;
    return result;
}

static void see_release(cu_pointer_t address, size_t bytes) {
    for (size_t i = 0; i < units_of(bytes); i++) {
        unit_t *unit = unit_at(address + i * FAKE_UNIT);
        EXPECT(unit->owner == 0);
        unit->given = 0;
        unit->last_work = 0; /* the driver waits for the device */
    }
}

static void shadow_open(size_t memory_bytes) {
    fake_open(memory_bytes);
    fake.api.alloc = given_alloc;
    fake.before_release = see_release;
    n_units = 3 * memory_bytes / FAKE_UNIT; /* the fake driver leaves holes in its address space */
    units = mem_zeroed(n_units, sizeof *units);
}

static void shadow_close(void) {
    fake_close();
    free(units);
}

typedef struct held {
    cu_pointer_t address;
    size_t bytes;
    unsigned stream;
} held_t;

static void shadow_take(const held_t *held, uint32_t number) {
    const size_t n = units_of(held->bytes);
    unit_t *unit = unit_at(held->address);
    EXPECT(unit_at(held->address + (n - 1) * FAKE_UNIT) == unit + n - 1);
    for (; unit < unit_at(held->address) + n; unit++) {
        EXPECT(unit->given == 1);
        EXPECT(unit->owner == 0);
        EXPECT(unit->last_stream == held->stream ||
               fake.streams[unit->last_stream].done >= unit->last_work);
        unit->owner = number + 1;
    }
}

static void shadow_give(const held_t *held, uint32_t number, unsigned stream) {
    const uint64_t work = fake_work(fake_stream(stream));
    unit_t *unit = unit_at(held->address);
    for (size_t i = 0; i < units_of(held->bytes); i++, unit++) {
        EXPECT(unit->owner == number + 1);
        unit->owner = 0;
        unit->last_stream = (uint16_t)stream;
        unit->last_work = work;
    }
}

/* ---- many streams ---------------------------------------------------------------------------- */

typedef struct plan {
    size_t n_steps, memory_bytes;
    uint32_t most_live, n_streams;
    unsigned max_log2;
} plan_t;

typedef struct world {
    allocator_t *allocator;
    held_t *held;
    uint32_t n_held;
    size_t n_refused;
} world_t;

static void give_one(world_t *w, uint32_t number, unsigned stream) {
    error_t err = ERROR_INIT;
    held_t *held = &w->held[number];
    shadow_give(held, number, stream);
    if (allocator_free(w->allocator, held->address, fake_stream(stream), &err) != STATUS_OK)
        fail_msg("seed %" PRIu64 ", step %zu: %s", dice.seed, step, err.text);
    held_t last = w->held[--w->n_held];
    if (number != w->n_held) { /* the last one takes its number over */
        unit_t *unit = unit_at(last.address);
        for (size_t i = 0; i < units_of(last.bytes); i++)
            unit[i].owner = number + 1;
    }
    w->held[number] = last;
}

static void take_one(world_t *w, const plan_t *plan) {
    error_t err = ERROR_INIT;
    held_t *held = &w->held[w->n_held];
    held->stream = throw_below(&dice, plan->n_streams);
    held->bytes = throw_bytes(&dice, plan->max_log2);
    status_t status = allocator_allocate(w->allocator, held->bytes, fake_stream(held->stream),
                                         &held->address, &err);
    if (status != STATUS_OK) {
        EXPECT(strstr(err.text, "out of device memory") == err.text);
        w->n_refused++;
        return;
    }
    EXPECT(held->address % ALLOCATOR_ALIGNMENT == 0);
    shadow_take(held, w->n_held++);
}

/* Grows towards the most blocks, shrinks to none, and again. */
static void walk(world_t *w, const plan_t *plan) {
    for (step = 0; step < plan->n_steps; step++) {
        const bool grows = step / (2 * plan->most_live) % 2 == 0;
        const uint32_t side = throw_below(&dice, 8);
        if (w->n_held < plan->most_live && (w->n_held == 0 || (side < 5) == grows)) {
            take_one(w, plan);
        } else {
            uint32_t number = throw_below(&dice, w->n_held);
            bool elsewhere = throw_below(&dice, 8) == 0;
            give_one(w, number,
                     elsewhere ? throw_below(&dice, plan->n_streams) : w->held[number].stream);
        }
        if (plan->n_streams > 1 && throw_below(&dice, 16) == 0)
            fake_done(fake_stream(throw_below(&dice, plan->n_streams)));
        EXPECT(fake.taken_bytes == allocator_stats(w->allocator).reserved_bytes);
    }
}

static size_t run_trace(uint64_t seed, const plan_t *plan) {
    world_t w = {.held = mem_zeroed(plan->most_live + 1, sizeof *w.held)};
    dice = (dice_t){.seed = seed};
    shadow_open(plan->memory_bytes);
    assert_ok(allocator_open(ALLOCATOR_CACHING, &fake.api, 0, &w.allocator, &err));
    walk(&w, plan);
    size_t allocated_bytes = 0;
    for (uint32_t i = 0; i < w.n_held; i++)
        allocated_bytes += units_of(w.held[i].bytes) * FAKE_UNIT;
    EXPECT(allocator_stats(w.allocator).allocated_bytes == allocated_bytes);
    while (w.n_held > 0)
        give_one(&w, w.n_held - 1, w.held[w.n_held - 1].stream);
    EXPECT(allocator_stats(w.allocator).allocated_bytes == 0);
    cu_pointer_t none; /* more than there is: the cache is emptied */
    assert_fails_with(
        allocator_allocate(w.allocator, plan->memory_bytes + 1, fake_stream(0), &none, &err),
        STATUS_FAILED, "out of device memory");
    EXPECT(fake.taken_bytes == 0); /* everything has coalesced to whole segments */
    allocator_close(w.allocator);
    free(w.held);
    shadow_close();
    return w.n_refused;
}

static void test_a_million_calls(void **state) {
    const plan_t plan = {.n_steps = 1000000,
                         .memory_bytes = 512 * MIB,
                         .most_live = 2000,
                         .n_streams = 3,
                         .max_log2 = 18};
    assert_int_equal(run_trace(1, &plan), 0);
}

/* 64 MiB do not hold what is asked for: the cache is emptied, requests are refused, it goes on. */
static void test_too_little_memory(void **state) {
    const plan_t plan = {.n_steps = 20000,
                         .memory_bytes = 64 * MIB,
                         .most_live = 100,
                         .n_streams = 2,
                         .max_log2 = 23};
    assert_true(run_trace(2, &plan) > 100);
}

static void test_many_seeds(void **state) {
    for (uint64_t seed = 10; seed < 40; seed++) {
        const plan_t plan = {.n_steps = 3000,
                             .memory_bytes = 512 * MIB,
                             .most_live = 10 + 10 * (uint32_t)(seed % 7),
                             .n_streams = 1 + (uint32_t)(seed % FAKE_STREAMS),
                             .max_log2 = 12 + (unsigned)(seed % 11)};
        run_trace(seed, &plan);
    }
}

#include "run_tests.h"
