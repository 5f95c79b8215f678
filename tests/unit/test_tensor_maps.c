/* Tensor maps of rungs: what they are for a case, and what is refused by name. */
#include "checks.h"
#include "read_text.h"
#include "workloads/described/tensor_maps.h"

#include <jansson.h>

/* An array of each number of dimensions. */
static const char DESCRIPTION[] =
    "{\"schema\": 1, \"name\": \"t\", \"params\": {\"m\": {\"default\": 16}, \"k\": {\"default\": "
    "104},"
    " \"odd\": {\"default\": 5}}, \"dtypes\": [\"f16\"],"
    " \"inputs\": [{\"name\": \"a\", \"shape\": [\"m\", \"k\"], \"dtype\": \"T\"},"
    " {\"name\": \"w\", \"shape\": [\"odd\", \"m\", \"k\"], \"dtype\": \"f32\"},"
    " {\"name\": \"v\", \"repeat\": 1, \"shape\": [\"m\"], \"dtype\": \"f32\"}],"
    " \"outputs\": [{\"name\": \"y\", \"shape\": [\"m\", \"odd\"], \"dtype\": \"T\"}]}";

static int read_description(void **state) {
    static description_t d;
    json_auto_t *json = json_loads(DESCRIPTION, 0, NULL);
    assert_ok(description_parse("t.json", json, &d, &err));
    *state = &d;
    return 0;
}

static int free_description(void **state) {
    description_free(*state);
    return 0;
}

/* The map stands second in its table. */
static status_t size_of(const description_t *d, const described_tensor_map_t *map,
                        tensor_map_size_t *size, error_t *err) {
    static const described_tensor_map_t FIRST = {.array = "a", .sizes = {"8"}, .box = {"8"}};
    const tensor_maps_t maps = {.items = {FIRST, *map}, .n = 2};
    tensor_map_size_t sizes[MOST_TENSOR_MAPS];
    const case_t spec = {.dtype = (char *)"f16"};
    const status_t status = tensor_maps_size(&maps, d, &spec, 132, sizes, err);
    *size = sizes[1];
    return status;
}

static void test_sizes(void **state) {
    const described_tensor_map_t map = {.array = "w",
                                        .sizes = {"k / 2", "m", "odd - 1"},
                                        .box = {"16", "min(m, 256)", "1"},
                                        .swizzle = 2,
                                        .l2 = 3,
                                        .strides = {"k", "2 * k"},
                                        .steps = {"", "2"}};
    tensor_map_size_t size;
    assert_ok(size_of(*state, &map, &size, &err));
    const tensor_map_size_t expected = {.array = 1,
                                        .element = ELEMENT_F32,
                                        .rank = 3,
                                        .sizes = {52, 16, 4},
                                        .strides = {416, 832},
                                        .box = {16, 16, 1},
                                        .steps = {1, 2, 1},
                                        .swizzle = 2,
                                        .l2 = 3};
    assert_memory_equal(&size, &expected, sizeof size);
}

static void test_strides_of_a_dense_array(void **state) {
    const described_tensor_map_t map = {
        .array = "w", .sizes = {"k", "m", "odd"}, .box = {"4", "256", "1"}};
    tensor_map_size_t size;
    assert_ok(size_of(*state, &map, &size, &err));
    assert_int_equal(size.strides[0], 416);
    assert_int_equal(size.strides[1], 416 * 16);
}

typedef struct refused {
    described_tensor_map_t map;
    const char *message;
} refused_t;

#define OF_A .array = "a", .sizes = {"k", "m"}
#define OF_W .array = "w", .sizes = {"k", "m", "odd"}

static const refused_t REFUSED[] = {
    {{.array = "z", .sizes = {"8"}, .box = {"8"}},
     "(z): array: found \"z\", expected one of a, w, y"},
    {{.array = "v", .sizes = {"8"}, .box = {"8"}},
     "(v): array: found \"v\", expected one of a, w, y"},
    {{.array = "a"}, "(a): sizes: found none, expected 1 to 5"},
    {{.array = "a", .sizes = {"k", "", "m"}, .box = {"8", "8", "8"}},
     "(a): sizes[1]: found \"\", expected a size"},
    {{OF_A, .box = {"64"}}, "(a): box: found 1 numbers, expected 2, as of sizes"},
    {{OF_A, .box = {"8", "8"}, .strides = {"k", "k * m"}},
     "(a): strides: found 2, expected at most 1: the first dimension has none"},
    {{OF_A, .box = {"8", "8"}, .steps = {"1", "1", "1"}},
     "(a): steps: found 3, expected at most 2, as of sizes"},
    {{OF_A, .box = {"8", "8"}, .swizzle = 4},
     "(a): swizzle: found 4, expected SWIZZLE_NONE, _32, _64 or _128"},
    {{OF_A, .box = {"8", "8"}, .l2 = 128},
     "(a): l2: found 128, expected L2_NONE, _64, _128 or _256"},
    {{.array = "a", .sizes = {"k", "m - 16"}, .box = {"8", "8"}},
     "(a): sizes[1]: \"m - 16\" is 0, expected 1 to 4294967296"},
    {{.array = "a", .sizes = {"k", "2 ** 32 + 1"}, .box = {"8", "8"}},
     "(a): sizes[1]: \"2 ** 32 + 1\" is 4294967297, expected 1 to 4294967296"},
    {{OF_A, .box = {"8", "257"}}, "(a): box[1]: \"257\" is 257, expected 1 to 256"},
    {{OF_A, .box = {"8", "m - 16"}}, "(a): box[1]: \"m - 16\" is 0, expected 1 to 256"},
    {{OF_A, .box = {"8", "8"}, .steps = {"", "9"}}, "(a): steps[1]: \"9\" is 9, expected 1 to 8"},
    {{OF_A, .box = {"8", "8"}, .steps = {"2"}}, "(a): steps[0]: \"2\" is 2, expected 1 to 1"},
    {{.array = "y", .sizes = {"odd", "m"}, .box = {"8", "8"}},
     "(y): strides[0]: found 10 bytes (dense), expected a multiple of 16, less than 2^40"},
    {{OF_W, .box = {"4", "4", "1"}, .strides = {"k", "k * m + 2"}},
     "(w): strides[1]: found 6664 bytes (k * m + 2), expected a multiple of 16, less than 2^40"},
    {{OF_W, .box = {"4", "4", "1"}, .strides = {"k", "2 ** 38"}},
     "(w): strides[1]: found 1099511627776 bytes (2 ** 38), expected a multiple of 16, less than "
     "2^40"},
    {{OF_W, .box = {"4", "4", "1"}, .strides = {"0"}},
     "(w): strides[0]: \"0\" is 0, expected 1 to 1099511627775"},
    {{OF_A, .box = {"4", "8"}},
     "(a): box[0]: found \"4\", 8 bytes, expected a multiple of 16 bytes"},
    {{OF_A, .box = {"72", "8"}, .swizzle = 3},
     "(a): box[0]: found \"72\", 144 bytes, expected at most 128: the span of SWIZZLE_128"},
    {{OF_A, .box = {"24", "8"}, .swizzle = 1},
     "(a): box[0]: found \"24\", 48 bytes, expected at most 32: the span of SWIZZLE_32"},
    {{OF_W, .box = {"256", "256", "1"}}, "(w): box: found 262144 bytes, expected at most 232448"},
    {{.array = "a", .sizes = {"k", "m + 1"}, .box = {"8", "8"}},
     "(a): sizes: the last element is 3534 bytes from the first, expected one of the array's 3328 "
     "bytes"},
    {{.array = "a", .sizes = {"k + 8", "m"}, .box = {"8", "8"}, .strides = {"k"}},
     "(a): sizes: the last element is 3342 bytes from the first, expected one of the array's 3328 "
     "bytes"},
    {{OF_A, .box = {"rows", "8"}},
     "(a): box[0]: \"rows\": character 1: unknown name \"rows\" "
     "(known: m, k, odd, sm_count)"},
};

static void test_maps_that_are_refused(void **state) {
    for (size_t i = 0; i < COUNT_OF(REFUSED); i++) {
        tensor_map_size_t size;
        error_t err = ERROR_INIT;
        const status_t status = size_of(*state, &REFUSED[i].map, &size, &err);
        AUTO_FREE char *expected = mem_format("TENSOR_MAPS[1] %s", REFUSED[i].message);
        assert_string_equal(err.text, expected);
        assert_int_not_equal(status, STATUS_OK);
    }
}

static void test_tables_of_another_length(void **state) {
    static const described_tensor_map_t MAPS[9];
    tensor_maps_t maps;
    error_t err = ERROR_INIT;
    assert_int_equal(tensor_maps_take(MAPS, 0, &maps, &err), STATUS_OK);
    assert_int_equal(maps.n, 0);
    assert_int_equal(tensor_maps_take(MAPS, 8 * sizeof *MAPS, &maps, &err), STATUS_OK);
    assert_int_equal(maps.n, 8);
    assert_int_equal(tensor_maps_take(MAPS, sizeof MAPS, &maps, &err), STATUS_FAILED);
    assert_string_equal(err.text,
                        "its TENSOR_MAPS take 7992 bytes; expected 1 to 8 maps of 888 bytes");
    described_tensor_map_t endless = MAPS[0];
    memset(endless.box[4], '1', sizeof endless.box[4]);
    error_clear(&err);
    assert_int_equal(tensor_maps_take(&endless, sizeof endless, &maps, &err), STATUS_FAILED);
    assert_string_equal(err.text, "its TENSOR_MAPS[0] has a text without an end");
}

#define GROUP_SET_UP read_description
#define GROUP_TEAR_DOWN free_description
#include "run_tests.h"
