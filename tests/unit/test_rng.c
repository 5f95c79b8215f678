/* base/rng against tests/fixtures/philox.json, the file that the Python side is tested against
 * too. */
#include "base/rng.h"
#include "checks.h"
#include "made_case.h"

#include <jansson.h>

static int load(void **state) {
    *state = read_json("tests/fixtures/philox.json");
    return 0;
}

static int unload(void **state) {
    json_decref(*state);
    return 0;
}

/* A list of the fixture; an absent or empty one must not let a test pass. */
static json_t *rows_of(void **state, const char *name) {
    json_t *rows = json_object_get(*state, name);
    assert_true(json_array_size(rows) > 0);
    return rows;
}

static uint64_t hex(const json_t *row, const char *key) {
    return strtoull(json_string_value(json_object_get(row, key)), NULL, 16);
}

static uint32_t stream_of(const json_t *row) {
    return (uint32_t)json_integer_value(json_object_get(row, "stream"));
}

static void hex_words(const json_t *row, const char *key, uint32_t *words, size_t n) {
    const char *text = json_string_value(json_object_get(row, key));
    for (size_t i = 0; i < n; i++) {
        char *end;
        words[i] = (uint32_t)strtoul(text, &end, 16);
        assert_true(end > text);
        text = end;
    }
    assert_string_equal(text, "");
}

static void known_answers(void **state) {
    size_t i;
    json_t *row;
    json_array_foreach(rows_of(state, "vectors"), i, row) {
        uint32_t counter[4], key[2], expected[4], out[4];
        hex_words(row, "counter", counter, 4);
        hex_words(row, "key", key, 2);
        hex_words(row, "out", expected, 4);
        philox4x32_10(counter, key, out);
        assert_memory_equal(out, expected, sizeof out);
    }
}

static void words_at_any_position(void **state) {
    size_t i;
    json_t *row;
    json_array_foreach(rows_of(state, "words"), i, row) {
        uint64_t index = (uint64_t)json_integer_value(json_object_get(row, "index"));
        assert_int_equal(rng_word(hex(row, "seed"), stream_of(row), index), hex(row, "word"));
    }
}

static void uniforms_bit_for_bit(void **state) {
    size_t i;
    json_t *row;
    json_array_foreach(rows_of(state, "uniforms"), i, row) {
        const json_t *bits = json_object_get(row, "bits");
        size_t n = json_array_size(bits);
        assert_true(n > 0);
        AUTO_FREE float *values = mem_alloc(n * sizeof *values);
        const uint64_t first = (uint64_t)json_integer_value(json_object_get(row, "first"));
        rng_fill_uniform(values, n, (rng_position_t){hex(row, "seed"), stream_of(row), first},
                         (float)json_number_value(json_object_get(row, "low")),
                         (float)json_number_value(json_object_get(row, "high")));
        for (size_t v = 0; v < n; v++) {
            uint32_t got;
            memcpy(&got, &values[v], sizeof got);
            assert_int_equal(got, strtoul(json_string_value(json_array_get(bits, v)), NULL, 16));
        }
    }
}

static void permutations(void **state) {
    size_t i;
    json_t *row;
    json_array_foreach(rows_of(state, "permutations"), i, row) {
        const json_t *expected = json_object_get(row, "order");
        size_t n = json_array_size(expected);
        AUTO_FREE uint32_t *order = mem_alloc(n * sizeof *order);
        rng_permutation(order, n, hex(row, "seed"), stream_of(row));
        for (size_t k = 0; k < n; k++)
            assert_int_equal(order[k], json_integer_value(json_array_get(expected, k)));
    }
}

static void pieces_make_the_whole(void **state) {
    enum { N = 601 };
    float whole[N], piece[N];
    uint32_t words[N];
    rng_fill_uniform(whole, N, (rng_position_t){9, 4, 0}, -1, 1);
    for (size_t first = 0; first < N; first += 7) {
        size_t n = N - first < 7 ? N - first : 7;
        rng_fill_uniform(piece, n, (rng_position_t){9, 4, first}, -1, 1);
        assert_memory_equal(piece, whole + first, n * sizeof *piece);
        rng_words(words, N - first, (rng_position_t){9, 4, first});
        for (size_t i = first; i < N; i++)
            assert_int_equal(words[i - first], rng_word(9, 4, i));
    }
    piece[0] = 5;
    rng_fill_uniform(piece, 0, (rng_position_t){9, 4, 0}, -1, 1);
    assert_true(piece[0] == 5);
}

static void large_permutation_has_every_index_once(void **state) {
    enum { N = 10007 };
    AUTO_FREE uint32_t *order = mem_alloc(N * sizeof *order);
    unsigned char *seen = mem_zeroed(N, 1);
    rng_permutation(order, N, 1, 2);
    size_t fixed = 0;
    for (size_t i = 0; i < N; i++) {
        assert_true(order[i] < N);
        assert_int_equal(seen[order[i]]++, 0);
        fixed += order[i] == i;
    }
    assert_true(fixed < 10); /* 1 expected */
    free(seen);
}

#define GROUP_SET_UP load
#define GROUP_TEAR_DOWN unload
#include "run_tests.h"
