/* What refills change and outputs are filled with: signs by a seed, and random values. */
#include "base/half.h"
#include "base/rng.h"
#include "checks.h"
#include "workloads/common/session_parts.h"

/* The Python workers' tests have the same words. */
static void test_known_masks(void **state) {
    static const struct {
        uint64_t seed;
        uint32_t words[4];
    } KNOWN[] = {{1, {0x6368651f, 0xcaffee8f, 0x7007356a, 0x8bfe0879}},
                 {((uint64_t)1 << 40) + 3, {0x88ec7347, 0xb227914e, 0x0a237a59, 0x1528a6f2}}};
    for (size_t i = 0; i < COUNT_OF(KNOWN); i++) {
        signs_t flips;
        signs_between(0, KNOWN[i].seed, &flips);
        assert_memory_equal(flips.words, KNOWN[i].words, sizeof KNOWN[i].words);
        for (size_t k = 0; k < SIGNS_WORDS; k++)
            assert_int_equal(flips.words[k], rng_word(KNOWN[i].seed, STREAM_SIGNS, k));
    }
}

static bool is_flipped(uint64_t seed, size_t i) {
    return rng_word(seed, STREAM_SIGNS, i / 32 % SIGNS_WORDS) >> i % 32 & 1;
}

/* Around the ends of words, of periods, and of the arrays that one thread flips. */
static const size_t LENGTHS[] = {1,
                                 31,
                                 32,
                                 33,
                                 SIGNS_PERIOD - 1,
                                 SIGNS_PERIOD,
                                 SIGNS_PERIOD + 33,
                                 4 * SIGNS_PERIOD + 1,
                                 5 * SIGNS_PERIOD + 77};

static void check_length(size_t n, uint64_t from, uint64_t to) {
    AUTO_FREE float *floats = mem_alloc(n * sizeof *floats);
    signs_t flips;
    for (size_t i = 0; i < n; i++) {
        floats[i] = is_flipped(from, i) && from != 0 ? -1.5f : 1.5f;
    }
    signs_between(from, to, &flips);
    signs_flip_floats(floats, n, &flips);
    for (size_t i = 0; i < n; i++) {
        const float expected = is_flipped(to, i) && to != 0 ? -1.5f : 1.5f;
        if (floats[i] != expected)
            fail_msg("element %zu of %zu, seed %llu to %llu", i, n, (unsigned long long)from,
                     (unsigned long long)to);
    }
}

static void test_signs_are_absolute(void **state) {
    for (size_t i = 0; i < COUNT_OF(LENGTHS); i++) {
        check_length(LENGTHS[i], 0, 1);
        check_length(LENGTHS[i], 1, 2);
        check_length(LENGTHS[i], 2, 0);
    }
}

static bool looks_like_an_output(double value) {
    return value >= -1 && value <= 1 && value != 0;
}

static bool is_negative_nan(const void *values, random_kind_t kind, size_t i) {
    return kind == RANDOM_NAN_F16 ? ((const uint16_t *)values)[i] > 0xFC00
                                  : ((const uint32_t *)values)[i] > 0xFF800000;
}

enum { N = 2 * RANDOM_TILE + 5 };

static double element(const void *values, random_kind_t kind, size_t i) {
    if (kind == RANDOM_F64)
        return ((const double *)values)[i];
    if (kind == RANDOM_F32)
        return ((const float *)values)[i];
    if (kind == RANDOM_BYTES) /* any will do */
        return 1;
    if (kind == RANDOM_BF16)
        return bfloat16_to_float(((const uint16_t *)values)[i]);
    return half_to_float(((const uint16_t *)values)[i]);
}

static void test_random_fill(void **state) {
    for (random_kind_t kind = 0; kind < RANDOM_KINDS; kind++) {
        const size_t each = random_tile_bytes(kind) / RANDOM_TILE;
        const bool nan = kind == RANDOM_NAN_F16 || kind == RANDOM_NAN_F32;
        AUTO_FREE char *first = mem_zeroed(N, each), *second = mem_zeroed(N + 1, each);
        const char *tile = random_fill(first, N * each, kind);
        size_t odd = 0;
        for (size_t i = 0; i < N; i++) {
            odd += nan ? !is_negative_nan(first, kind, i)
                       : !looks_like_an_output(element(first, kind, i));
            assert_memory_equal(first + i * each, tile + i % RANDOM_TILE * each, each);
        }
        assert_in_range(odd, 0, nan ? 0 : N / 100); /* an f16 may round to 0 */
        random_fill(second, N * each, kind);
        assert_memory_not_equal(first, second, N * each);
        assert_true(second[N * each] == 0); /* not past the end */
    }
}

static void test_random_below(void **state) {
    bool seen[4] = {false};
    for (int i = 0; i < 1000; i++)
        seen[random_below(4)] = true;
    for (int i = 0; i < 4; i++)
        assert_true(seen[i]);
}

#include "run_tests.h"
