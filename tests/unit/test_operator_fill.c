/* Inputs of operators by known values and by what fill.h says. */
#include "base/half.h"
#include "base/rng.h"
#include "checks.h"
#include "workloads/described/fill.h"

enum { SEED = 42, INPUT = 3 };

/* So the quantile is right to the last bit (tests/cli/test_operator_fill.py). */
static void normals_to_the_bit(void **state) {
    static const struct {
        uint32_t word;
        double expected;
    } KNOWN[] = {
        {0, -0x1.95a1198fcf3d4p+2},         {12345, -0x1.22445dd52d97ap+2},
        {322122546, -0x1.708522723041ap+0}, /* the last of the tail */
        {322122547, -0x1.7085226b1fc71p+0}, {2147483648, 0x1.40d931ff62707p-32},
        {3972844749, 0x1.708522723041ap+0}, {4294967295, 0x1.95a1198fcf3d4p+2},
    };
    for (size_t i = 0; i < COUNT_OF(KNOWN); i++)
        assert_true(normal_of_word(KNOWN[i].word) == KNOWN[i].expected);
}

static uint32_t word_of(size_t i) {
    return rng_word(SEED, DESCRIBED_STREAM + INPUT, i);
}

/* What fill.h says of one element, before it is rounded. */
static double expected_at(const fill_t *fill, size_t i) {
    float uniform;
    switch (fill->kind) {
    case FILL_UNIFORM:
        rng_fill_uniform(&uniform, 1, (rng_position_t){SEED, DESCRIBED_STREAM + INPUT, i},
                         (float)fill->low, (float)fill->high);
        return uniform;
    case FILL_NORMAL:
        return fill->low + fill->high * normal_of_word(word_of(i));
    case FILL_INTEGERS:
        return fill->low + floor(word_of(i) * (fill->high - fill->low) * 0x1p-32);
    default:
        return fill->low;
    }
}

static double rounded(double value, element_t element) {
    switch (element) {
    case ELEMENT_F32:
        return (float)value;
    case ELEMENT_F16:
        return half_to_float(half_from_float((float)value));
    case ELEMENT_BF16:
        return bfloat16_to_float(bfloat16_from_float((float)value));
    case ELEMENT_F64:
        return value;
    case ELEMENT_U8:
        return fmax(rint(value), 0);
    case ELEMENT_E4M3:
        return e4m3_to_float(e4m3_from_float((float)value));
    case ELEMENT_E5M2:
        return e5m2_to_float(e5m2_from_float((float)value));
    case ELEMENT_BOOL:
        return value != 0;
    default:
        return rint(value);
    }
}

/* Nothing is written past the end. */
static void *filled(size_t n, element_t element, const fill_t *fill) {
    const size_t bytes = n * element_bytes(element);
    unsigned char *values = mem_zeroed(bytes + 1, 1);
    fill_array(values, n, element, fill, SEED, INPUT);
    assert_int_equal(values[bytes], 0);
    return values;
}

static const size_t SIZES[] = {0, 1, 3, 4096, 4097, 65535, 65536, 65537, 131073};

static void elements_are_as_described(void **state) {
    static const fill_t FILLS[] = {{.kind = FILL_UNIFORM, .low = -1, .high = 1},
                                   {.kind = FILL_UNIFORM, .low = 1, .high = 100},
                                   {.kind = FILL_NORMAL, .low = 0, .high = 1},
                                   {.kind = FILL_NORMAL, .low = 50, .high = 10},
                                   {.kind = FILL_INTEGERS, .low = -3, .high = 5},
                                   {.kind = FILL_INTEGERS, .low = 0, .high = 0x1p32},
                                   {.kind = FILL_CONSTANT, .low = 0.1, .high = 0}};
    for (size_t f = 0; f < COUNT_OF(FILLS); f++)
        for (element_t element = 0; element < ELEMENT_KINDS; element++) {
            if (FILLS[f].high > 1000 && element != ELEMENT_I64 && element != ELEMENT_F64)
                continue;
            const size_t n = SIZES[(f + element) % (COUNT_OF(SIZES))];
            void *values = filled(n, element, &FILLS[f]);
            for (size_t i = 0; i < n; i += i % 97 + 1) {
                const double expected = rounded(expected_at(&FILLS[f], i), element);
                if (element_value(values, i, element) != expected)
                    fail_msg("fill %zu, %s[%zu]: %.17g, expected %.17g", f, element_name(element),
                             i, element_value(values, i, element), expected);
            }
            free(values);
        }
}

static void integers_stay_in_their_range(void **state) {
    static const fill_t WIDE = {.kind = FILL_NORMAL, .low = 0, .high = 1e30};
    static const struct {
        element_t element;
        double least, most;
    } ROWS[] = {{ELEMENT_I32, -0x1p31, 0x1p31 - 1},
                {ELEMENT_I64, -0x1p63, 0x1p63 - 1024},
                {ELEMENT_U8, 0, 255}};
    for (size_t r = 0; r < COUNT_OF(ROWS); r++) {
        void *values = filled(100, ROWS[r].element, &WIDE);
        for (size_t i = 0; i < 100; i++)
            assert_true(element_value(values, i, ROWS[r].element) ==
                        (expected_at(&WIDE, i) < 0 ? ROWS[r].least : ROWS[r].most));
        free(values);
    }
}

static void permutations_follow_the_words(void **state) {
    static const fill_t FILL = {.kind = FILL_PERMUTATION};
    for (size_t s = 0; s < COUNT_OF(SIZES); s++) {
        const size_t n = SIZES[s];
        AUTO_FREE int32_t *order = filled(n, ELEMENT_I32, &FILL);
        AUTO_FREE bool *seen = mem_zeroed(n + 1, sizeof *seen);
        for (size_t k = 0; k < n; k++) {
            assert_in_range(order[k], 0, n - 1);
            assert_false(seen[order[k]]);
            seen[order[k]] = true;
            if (k > 0) {
                const uint32_t left = word_of((size_t)order[k - 1]);
                const uint32_t right = word_of((size_t)order[k]);
                assert_true(left < right || (left == right && order[k - 1] < order[k]));
            }
        }
    }
}

/* ---- refills --------------------------------------------------------------------------------- */

/* The Python test has the same numbers. rng_mix(0) is the first number of Vigna's splitmix64.c with the seed 0. */
static void keys_to_the_bit(void **state) {
    assert_true(rng_mix(0) == 0xE220A8397B1DCDAF);
    assert_true(fill_key(SEED, 0) == SEED);
    assert_true(fill_key(SEED, 7) == 0xF7E9F3F88CC04AD6);
    assert_true(fill_key(7, SEED) == 0xF7E9F3F88CC04AD6);
    assert_true(fill_key(0x123456789ABCDEF0, 1ull << 63) == 0xD4049834520EDA4F);
}

static void refills_to_the_bit(void **state) {
    static const uint32_t NORMALS[] = {0xBF238077, 0xBF980348, 0x400BB40F, 0x3F725D5C};
    static const fill_t NORMAL = {.kind = FILL_NORMAL, .low = 0, .high = 1};
    uint32_t values[4];
    fill_again(values, 4, ELEMENT_F32, &NORMAL, fill_key(SEED, 7), INPUT);
    assert_memory_equal(values, NORMALS, sizeof NORMALS);
}

/* The same fill with another key, whatever was there: no magnitude, sum or order is left. */
static void refills_are_fills_with_another_key(void **state) {
    static const fill_t FILLS[] = {{.kind = FILL_UNIFORM, .low = -1, .high = 1},
                                   {.kind = FILL_NORMAL, .low = 0, .high = 2},
                                   {.kind = FILL_INTEGERS, .low = -5, .high = 50},
                                   {.kind = FILL_PERMUTATION}};
    const uint64_t key = fill_key(SEED, 99);
    for (element_t element = 0; element < ELEMENT_KINDS; element++)
        for (size_t f = 0; f < COUNT_OF(FILLS); f++) {
            const size_t n = SIZES[(f + element) % (COUNT_OF(SIZES))];
            const size_t bytes = n * element_bytes(element);
            void *values = filled(n, element, &FILLS[f]);
            void *expected = mem_zeroed(bytes + 1, 1), *opened = filled(n, element, &FILLS[f]);
            fill_array(expected, n, element, &FILLS[f], key, INPUT);
            fill_again(values, n, element, &FILLS[f], key, INPUT);
            assert_memory_equal(values, expected, bytes);
            if (n > 1000 && element != ELEMENT_BOOL)
                assert_memory_not_equal(values, opened, bytes);
            fill_again(values, n, element, &FILLS[f], fill_key(SEED, 0), INPUT);
            assert_memory_equal(values, opened, bytes);
            free(values);
            free(expected);
            free(opened);
        }
}

/* y = x + 2·(other input), of which a refill knows no more than the keys. */
static void fills_add_another_input(void **state) {
    enum { N = 9001, OTHER = 3 };
    static const fill_t X = {.kind = FILL_NORMAL, .low = 5, .high = 0.1},
                        ALONE = {.low = 0.5, .high = 1.5},
                        Y = {.low = 0.5,
                             .high = 1.5,
                             .times = 2,
                             .of_kind = FILL_NORMAL,
                             .of_low = 5,
                             .of_high = 0.1,
                             .of = OTHER};
    static float x[N], alone[N], y[N];
    for (uint64_t refill = 0; refill < 2; refill++) {
        fill_again(x, N, ELEMENT_F32, &X, fill_key(SEED, refill), OTHER);
        fill_again(alone, N, ELEMENT_F32, &ALONE, fill_key(SEED, refill), INPUT);
        fill_again(y, N, ELEMENT_F32, &Y, fill_key(SEED, refill), INPUT);
        for (size_t i = 0; i < N; i++)
            assert_true(y[i] == (float)(2.0 * x[i] + alone[i]));
    }
}

static void refills_give_constants_again_and_leave_nothing(void **state) {
    static const fill_t FILL = {.kind = FILL_CONSTANT, .low = 2.5, .high = 0};
    float values[] = {1, 2, 3}; /* an array in place, after a run */
    fill_again(values, 3, ELEMENT_F32, &FILL, 9, INPUT);
    assert_true(values[0] == 2.5f && values[1] == 2.5f && values[2] == 2.5f);
    fill_again(values, 0, ELEMENT_F32, &(fill_t){.kind = FILL_NORMAL, .low = 1, .high = 1}, 9,
               INPUT);
    assert_true(values[0] == 2.5f);
}

#include "run_tests.h"
