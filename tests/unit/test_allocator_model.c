/* The caching allocator against a model: the same allocator once more, as simple as can be (arrays
 * and linear searches, one stream). Addresses and statistics must be the same. */
#include "allocators/allocator.h"
#include "checks.h"
#include "dice.h"
#include "fake_device.h"

#define MIB ((size_t)1 << 20)

enum { MODEL_BLOCKS = 4096 };

typedef struct model_block {
    cu_pointer_t address;
    size_t bytes, asked_bytes;
    unsigned segment; /* number */
    bool small, live;
} model_block_t;

typedef struct model {
    model_block_t blocks[MODEL_BLOCKS]; /* by segment, then by address */
    size_t n;
    unsigned n_segments;
    cu_pointer_t end;
    uint64_t driver_calls;
    size_t reserved_bytes, asked_bytes;
} model_t;

static void model_insert(model_t *m, size_t at, model_block_t block) {
    assert_true(m->n < MODEL_BLOCKS);
    memmove(&m->blocks[at + 1], &m->blocks[at], (m->n++ - at) * sizeof block);
    m->blocks[at] = block;
}

static void model_remove(model_t *m, size_t at) {
    memmove(&m->blocks[at], &m->blocks[at + 1], (--m->n - at) * sizeof *m->blocks);
}

static size_t model_best(const model_t *m, size_t bytes) {
    size_t best = m->n;
    for (size_t i = 0; i < m->n; i++) {
        const model_block_t *block = &m->blocks[i];
        if (!block->live && block->small == (bytes <= MIB) && block->bytes >= bytes &&
            (best == m->n || block->bytes < m->blocks[best].bytes))
            best = i;
    }
    return best;
}

static cu_pointer_t model_take(model_t *m, size_t bytes) {
    const bool small = bytes <= MIB;
    size_t at = model_best(m, bytes);
    if (at == m->n) {
        size_t segment_bytes = small              ? 2 * MIB
                               : bytes < 10 * MIB ? 20 * MIB
                                                  : (bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
        model_insert(m, at,
                     (model_block_t){.address = m->end,
                                     .bytes = segment_bytes,
                                     .segment = m->n_segments++,
                                     .small = small});
        m->end += segment_bytes;
        m->reserved_bytes += segment_bytes;
        m->driver_calls++;
    }
    model_block_t *block = &m->blocks[at];
    block->live = true;
    block->asked_bytes = bytes;
    m->asked_bytes += bytes;
    const cu_pointer_t address = block->address;
    if (block->bytes - bytes > (small ? 0 : MIB)) {
        model_block_t rest = *block;
        block->bytes = bytes;
        rest.address += bytes;
        rest.bytes -= bytes;
        rest.live = false;
        model_insert(m, at + 1, rest);
    }
    return address;
}

static bool model_unite(model_t *m, size_t left) {
    if (left + 1 >= m->n || m->blocks[left].live || m->blocks[left + 1].live ||
        m->blocks[left].segment != m->blocks[left + 1].segment)
        return false;
    m->blocks[left].bytes += m->blocks[left + 1].bytes;
    model_remove(m, left + 1);
    return true;
}

static void model_give(model_t *m, cu_pointer_t address) {
    size_t at = 0;
    while (m->blocks[at].address != address)
        at++;
    m->blocks[at].live = false;
    m->asked_bytes -= m->blocks[at].asked_bytes;
    model_unite(m, at);
    if (at > 0)
        model_unite(m, at - 1);
}

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("seed %" PRIu64 ", step %zu: %s", dice.seed, step, #condition);               \
    } while (0)

static void compare_with_model(uint64_t seed, uint32_t most_live, unsigned max_log2) {
    error_t err = ERROR_INIT;
    allocator_t *allocator;
    AUTO_FREE cu_pointer_t *held = mem_zeroed(most_live, sizeof *held);
    uint32_t n_held = 0;
    AUTO_FREE model_t *m = mem_zeroed(1, sizeof *m);
    dice_t dice = {.seed = seed};
    fake_open((size_t)1 << 40);
    m->end = FAKE_BASE;
    assert_int_equal(allocator_open(ALLOCATOR_CACHING, &fake.api, 0, &allocator, &err), STATUS_OK);
    for (size_t step = 0; step < 20000; step++) {
        if (n_held < most_live && (n_held == 0 || throw_below(&dice, 2) == 0)) {
            const size_t bytes = (throw_bytes(&dice, max_log2) + 511) / 512 * 512;
            cu_pointer_t *address = &held[n_held++];
            EXPECT(allocator_allocate(allocator, bytes, fake_stream(0), address, &err) ==
                   STATUS_OK);
            EXPECT(*address == model_take(m, bytes));
        } else {
            const uint32_t chosen = throw_below(&dice, n_held);
            model_give(m, held[chosen]);
            EXPECT(allocator_free(allocator, held[chosen], fake_stream(0), &err) == STATUS_OK);
            held[chosen] = held[--n_held];
        }
        const allocator_stats_t stats = allocator_stats(allocator);
        EXPECT(stats.driver_calls == m->driver_calls);
        EXPECT(stats.hits == stats.calls - m->driver_calls);
        EXPECT(stats.reserved_bytes == m->reserved_bytes);
        EXPECT(stats.allocated_bytes == m->asked_bytes);
    }
    allocator_close(allocator);
    fake_close();
}

static void test_same_as_the_model(void **state) {
    for (uint64_t seed = 100; seed < 108; seed++)
        compare_with_model(seed, 20 + 30 * (uint32_t)(seed % 4), 14 + (unsigned)(seed % 3) * 5);
}

#include "run_tests.h"
