/* Descriptions of operators as data: what tests/fixtures/invalid_operators.txt holds must be refused.
 * What a whole description is read as, and what follows from it for a case. */
#include "checks.h"
#include "io/json.h"
#include "refusals.h"
#include "temporary_folder.h"
#include "workloads/described/described.h"

#include <stdio.h>

#define FIXTURES "tests/fixtures/"

static status_t load_invalid(const char *path, error_t *err) {
    description_t description = {0};
    AUTO_FREE char *text = NULL;
    json_auto_t *json = NULL;
    status_t status = node_read(path, &text, err);
    if (status == STATUS_OK)
        status = node_parse(path, text, &json, err);
    if (status == STATUS_OK)
        status = description_parse(path, json, &description, err);
    if (status != STATUS_OK && (description.json != NULL || description.name != NULL))
        fail_msg("%s: something is left to free", path);
    return status;
}

static void test_invalid_descriptions(void **state) {
    check_refusals(FIXTURES "invalid_operators.txt", load_invalid);
}

static void load(const char *folder, description_t *description) {
    assert_ok(description_load(folder, description, &err));
}

static int load_everything(void **state) {
    static description_t description;
    load(FIXTURES "operators/everything", &description);
    *state = &description;
    return 0;
}

static int free_everything(void **state) {
    description_free(*state);
    return 0;
}

/* A case of "everything"; the caller frees it. */
static case_t make_case(const char *dtype, int64_t rows, int64_t cols) {
    case_t spec = {.dtype = mem_text(dtype)};
    case_add_param(&spec, "rows", &(value_t){.kind = VALUE_INT, .integer = rows});
    case_add_param(&spec, "cols", &(value_t){.kind = VALUE_INT, .integer = cols});
    return spec;
}

static void check_bounds(bounds_t bounds, double rel_l2, double max_abs) {
    assert_true(bounds.rel_l2 == rel_l2);
    assert_true(bounds.max_abs == max_abs);
}

static void test_head_and_params(void **state) {
    const description_t *d = *state;
    assert_string_equal(d->name, "everything");
    assert_string_equal(d->workload.summary, "Each key of a description");
    assert_true(d->folder[0] == '/' && text_ends(d->folder, FIXTURES "operators/everything"));
    assert_string_equal(json_string_value(json_object_get(d->json, "name")), "everything");
    static const struct {
        const char *name;
        int64_t by_default, least, most;
        bool constant;
    } PARAMS[] = {{"rows", 64, 2, 65536, false},
                  {"cols", 128, 1, (INT64_C(1) << 53) - 1, true},
                  {"shift", -1, -8, 8, false},
                  {"layers", 0, 1, 8, true}};
    assert_int_equal(d->params.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(d->params.items[i], PARAMS[i].name);
        assert_int_equal(d->defaults[i], PARAMS[i].by_default);
        assert_int_equal(d->least[i], PARAMS[i].least);
        assert_int_equal(d->most[i], PARAMS[i].most);
        assert_int_equal(d->constant[i], PARAMS[i].constant);
    }
    assert_int_equal(d->lists[3].n, 2);
    assert_int_equal(d->lists[3].items[1], 3);
    assert_int_equal(d->least_items[3], 1);
    assert_int_equal(d->most_items[3], 4);
    assert_string_equal(d->workload.size_param, "cols");
    assert_int_equal(d->dtypes.n, 3);
    assert_string_equal(d->dtypes.items[0], "f16");
    assert_true(d->deterministic && d->needs_deterministic);
    assert_null(d->workload.compared_by);
    assert_string_equal(d->types[0].math, "f16");
    assert_string_equal(d->types[1].math, "fp32");
    assert_null(d->types[2].math);
    assert_int_equal(d->n_scalars, 2);
    assert_string_equal(d->scalars[0].name, "eps");
    assert_int_equal(d->scalars[0].element, ELEMENT_F32);
    assert_true(d->scalars[0].value == 1e-5);
    assert_int_equal(d->scalars[1].element, ELEMENT_I64);
    assert_true(d->scalars[1].value == -1);
}

/* By the case's dtype; an array of another type has the default bounds of that type. */
static void test_tolerances(void **state) {
    const description_t *d = *state;
    check_bounds(d->arrays[5].bounds[1], 1e-6, 0.5); /* f32 */
    check_bounds(d->arrays[5].bounds[0], 2e-3, INFINITY);
    check_bounds(d->arrays[5].bounds[2], 0, 0);
    for (size_t i = 0; i < d->dtypes.n; i++) {
        check_bounds(d->arrays[2].bounds[i], INFINITY, 0.25);
        check_bounds(d->arrays[6].bounds[i], 0, 0);
        check_bounds(d->arrays[7].bounds[i], 1e-12, INFINITY);
    }
    check_bounds(description_bounds(ELEMENT_F32), 1e-5, INFINITY);
    check_bounds(description_bounds(ELEMENT_BF16), 1.6e-2, INFINITY);
    check_bounds(description_bounds(ELEMENT_U8), 0, 0);
}

static void test_values_and_shapes(void **state) {
    const description_t *d = *state;
    AUTO(case_free) case_t spec = make_case("f16", 6, 100);
    described_values_t values;
    description_values(d, &spec, 132, &values);
    assert_int_equal(values.scope.n, 5);
    assert_int_equal(values.scope.itemsizes['T' - 'A'], 2);
    assert_string_equal(values.scope.names[4], "sm_count");
    const int64_t expected[] = {6, 100, -1, 0, 132}; /* shift: the default */
    assert_memory_equal(values.scope.values, expected, sizeof expected);

    described_shape_t shape;
    assert_ok(description_shape(d, 0, &spec, &shape, &err));
    assert_int_equal(shape.element, ELEMENT_F16);
    const size_t sizes[] = {6, 200, 3};
    assert_memory_equal(shape.sizes, sizes, sizeof sizes);
    assert_int_equal(shape.n, 3600);
    assert_int_equal(shape.bytes, 7200);
    assert_ok(description_shape(d, 7, &spec, &shape, &err));
    assert_int_equal(shape.element, ELEMENT_F64);
    assert_int_equal(shape.n, 1);
    assert_int_equal(shape.bytes, 8);
}

static void test_lists_of_arrays(void **state) {
    AUTO(case_free) case_t spec = make_case("f16", 6, 100);
    int64_t layers[] = {5, 1, 2};
    case_add_param(&spec, "layers", &(value_t){.kind = VALUE_INTS, .ints = layers, .n_ints = 3});
    described_shape_t shapes[DESCRIBED_SHAPES];
    size_t n, order[DESCRIBED_SHAPES];
    assert_ok(description_arrays(*state, &spec, shapes, &n, &err));
    assert_int_equal(n, 10);
    assert_string_equal(shapes[4].name, "noise_0");
    assert_string_equal(shapes[6].name, "noise_2");
    assert_int_equal(shapes[4].sizes[0], 5);
    assert_int_equal(shapes[6].sizes[0], 2);
    assert_int_equal(described_length(&shapes[3], n - 3), 1);
    assert_int_equal(described_length(&shapes[4], n - 4), 3);
    assert_false(described_starts(&shapes[5]));
    described_order(shapes, n, order);
    const size_t expected[] = {0, 1, 3, 4, 5, 6, 2, 7, 8, 9}; /* inputs, in place, outputs */
    assert_memory_equal(order, expected, sizeof expected);
}

static void test_where_and_cost(void **state) {
    const description_t *d = *state;
    static const struct {
        const char *dtype;
        int64_t rows;
        bool allowed;
    } CASES[] = {{"f32", 127, true}, {"f16", 127, true}, {"f16", 128, false}, {"f32", 128, true}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO(case_free) case_t spec = make_case(CASES[i].dtype, CASES[i].rows, 4);
        bool allowed;
        workload_cost_t cost;
        assert_ok(description_where(d, &spec, &allowed, &err));
        assert_int_equal(allowed, CASES[i].allowed);
        assert_ok(description_cost(d, &spec, &cost, &err));
        assert_true(cost.bytes == (i % 3 == 0 ? 32.0 : 16.0) * (double)CASES[i].rows);
        assert_true(cost.flops == 20.0 * (double)CASES[i].rows);
    }
    AUTO(case_free) case_t spec = make_case("f32", INT64_C(1) << 53, INT64_C(1) << 53);
    bool allowed;
    workload_cost_t cost;
    assert_fails_with(description_where(d, &spec, &allowed, &err), STATUS_FAILED,
                      "where: \"rows * cols <=");
    assert_fails_with(description_cost(d, &spec, &cost, &err), STATUS_FAILED,
                      "cost.bytes: \"2 * itemsize(T)");
}

static void test_defaults(void **state) {
    AUTO(description_free) description_t d;
    load(FIXTURES "operators/smallest", &d);
    assert_string_equal(d.workload.summary, "");
    assert_string_equal(d.workload.size_param, "n");
    assert_true(d.deterministic && !d.needs_deterministic);
    assert_string_equal(d.workload.compared_by, COMPUTATION);
    assert_null(d.where);
    assert_int_equal(d.n_arrays, 1);
    assert_true(d.arrays[0].is_input && d.arrays[0].is_output);
    check_bounds(d.arrays[0].bounds[0], 1e-5, INFINITY);
    case_t spec = {.dtype = (char[]){"f32"}};
    bool allowed = false;
    workload_cost_t cost;
    assert_ok(description_where(&d, &spec, &allowed, &err));
    assert_true(allowed);
    assert_ok(description_cost(&d, &spec, &cost, &err));
    assert_true(isnan(cost.bytes) && isnan(cost.flops) && isnan(cost.working_set_bytes));
    /* The copy of a saved run is the same, but for its folder. */
    AUTO(description_free) description_t copy;
    assert_ok(description_parse("run.json", d.json, &copy, &err));
    assert_null(copy.folder);
    assert_string_equal(copy.hash, "");
    assert_string_equal(copy.name, "smallest");
}

/* What the last bias changes by hardly depends on the images: at 0.2 one output would pass for others. */
static void test_tolerances_of_a_list(void **state) {
    AUTO(description_free) description_t d;
    load("kernels/mlp_train", &d);
    case_t spec = {.dtype = (char[]){"f32"}};
    bounds_t first, last;
    assert_string_equal(d.arrays[1].name, "b");
    assert_ok(description_bounds_of(&d, 1, 0, &spec, &first, &err));
    assert_ok(description_bounds_of(&d, 1, 3, &spec, &last, &err));
    assert_true(first.of_change && last.of_change);
    assert_float_equal(first.rel_l2, 0.2, 1e-9);
    assert_float_equal(last.rel_l2, 0.05, 1e-9);
}

/* ---- dtypes with type letters ----------------------------------------------------------------- */

/* The description of a linear layer, with other text in place of `before` if that is not NULL; and its dtype `name`. */
static void load_linear(const char *before, const char *after, description_t *d) {
    char *text = read_text(FIXTURES "operators/linear/workload.json"), *found = NULL;
    json_auto_t *json;
    if (before != NULL) {
        assert_non_null(found = strstr(text, before));
        char *changed =
            mem_format("%.*s%s%s", (int)(found - text), text, after, found + strlen(before));
        free(text);
        text = changed;
    }
    assert_ok(node_parse("linear.json", text, &json, &err));
    assert_ok(description_parse("linear.json", json, d, &err));
    free(text);
}

static void test_type_letters(void **state) {
    AUTO(description_free) description_t d;
    load_linear(NULL, NULL, &d);
    static const struct {
        const char *dtype;
        element_t t, w;
        bool tf32;
        const char *factors;
        double rel_l2, bytes; /* of y, of sums; per (rows, inputs, outputs) = (1, 1, 1) */
    } DTYPES[] = {{"f32", ELEMENT_F32, ELEMENT_F32, false, "f32", 1e-5, 20},
                  {"tf32", ELEMENT_F32, ELEMENT_F32, true, "tf32", 2e-3, 20},
                  {"mixed", ELEMENT_F16, ELEMENT_F32, false, "f16", 2e-3, 16}};
    assert_int_equal(d.dtypes.n, COUNT_OF(DTYPES));
    for (size_t i = 0; i < COUNT_OF(DTYPES); i++) {
        AUTO(case_free) case_t spec = {.dtype = mem_text(DTYPES[i].dtype)};
        static const char *const SIZES[] = {"rows", "inputs", "outputs"};
        for (size_t k = 0; k < COUNT_OF(SIZES); k++)
            case_add_param(&spec, SIZES[k], &(value_t){.kind = VALUE_INT, .integer = 1});
        workload_cost_t cost;
        described_shape_t x, w;
        assert_int_equal(description_dtype(&d, &spec), i);
        assert_int_equal(description_element(&d, i), DTYPES[i].t);
        assert_int_equal(description_element_of(&d, &d.arrays[1], i), DTYPES[i].w);
        assert_ok(description_shape(&d, 0, &spec, &x, &err));
        assert_ok(description_shape(&d, 1, &spec, &w, &err));
        assert_int_equal(x.element, DTYPES[i].t);
        assert_int_equal(w.element, DTYPES[i].w);
        assert_int_equal(description_allows_tf32(&d, i), DTYPES[i].tf32);
        assert_string_equal(description_factors(&d, i), DTYPES[i].factors);
        for (size_t y = 3; y < 5; y++)
            check_bounds(d.arrays[y].bounds[i], DTYPES[i].rel_l2, INFINITY);
        assert_ok(description_cost(&d, &spec, &cost, &err));
        assert_true(cost.bytes == DTYPES[i].bytes);
    }
}

/* Factors that have the type of the rate already are not rounded; what is rounded bounds every output. */
static void test_default_tolerances_of_products(void **state) {
    static const struct {
        const char *dtype;
        double y, sums;
        const char *factors;
    } CASES[] = {
        {"\"mixed\": {\"T\": \"f16\", \"W\": \"f16\", \"math\": \"f16\"}", 2e-3, 2e-3, "f16"},
        {"\"mixed\": {\"T\": \"f16\", \"W\": \"f32\"}", 2e-3, 1e-5, "f16"},
        {"\"mixed\": {\"T\": \"f32\", \"W\": \"f16\", \"math\": \"fp32\"}", 1e-5, 2e-3, "f16"},
        {"\"mixed\": {\"T\": \"f64\", \"W\": \"f64\", \"math\": \"bf16\"}", 1.6e-2, 1.6e-2, "bf16"},
        {"\"mixed\": {\"T\": \"f64\", \"W\": \"f16\", \"math\": \"tf32\"}", 2e-3, 2e-3, "f16"},
        {"\"mixed\": {\"T\": \"bf16\", \"W\": \"f64\", \"math\": \"f16\"}", 1.6e-2, 2e-3, "bf16"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO(description_free) description_t d;
        load_linear("\"mixed\": {\"T\": \"f16\", \"W\": \"f32\", \"math\": \"f16\"}",
                    CASES[i].dtype, &d);
        check_bounds(d.arrays[3].bounds[2], CASES[i].y, INFINITY);
        check_bounds(d.arrays[4].bounds[2], CASES[i].sums, INFINITY);
        assert_string_equal(description_factors(&d, 2), CASES[i].factors);
    }
}

/* A list of element types, with the rates in "cost". */
static void test_the_former_list(void **state) {
    AUTO(description_free) description_t d;
    json_t *json =
        json_pack("{si, ss, s{s{si}}, s[ss], s[{ss, s[s], ss}], s[{ss, s[s], ss}], s{ss, s{ss}}}",
                  "schema", 1, "name", "old", "params", "n", "default", 8, "dtypes", "f32", "i32",
                  "inputs", "name", "x", "shape", "n", "dtype", "i32", "outputs", "name", "y",
                  "shape", "n", "dtype", "T", "cost", "flops", "n", "math", "f32", "fp32");
    json_object_set_new(json_array_get(json_object_get(json, "inputs"), 0), "fill",
                        json_string("ones"));
    assert_ok(description_parse("old.json", json, &d, &err));
    assert_string_equal(d.types[0].math, "fp32");
    assert_null(d.types[1].math);
    assert_int_equal(description_element(&d, 1), ELEMENT_I32);
    assert_false(description_allows_tf32(&d, 0));
    assert_null(description_factors(&d, 1));
    json_decref(json);
}

/* ---- folders ---------------------------------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const char *text) {
    AUTO_FREE char *path = fs_join(folder, name);
    assert_ok(fs_write_atomic(path, text, strlen(text), &err));
}

/* The description's hash, or the error's text; the caller frees it. */
static char *hash_or_error(const char *folder) {
    description_t d;
    error_t err = ERROR_INIT;
    if (description_load(folder, &d, &err) != STATUS_OK)
        return mem_text(err.text);
    char *text = mem_text(d.hash);
    description_free(&d);
    return text;
}

static void test_hash(void **state) {
    static const char *const STEPS[][2] = {
        /* each changes the hash */
        {"reference.py", "x"}, {"reference.py", "y"},    {"other.py", "x"},
        {"other.py", "xy"},    {"workload.json", "+\n"},
    };
    AUTO_FREE char *folder = NULL, *json = read_text(FIXTURES "operators/smallest/workload.json");
    folder = temporary_folder();
    write_file(folder, "workload.json", json);
    char *before = hash_or_error(folder);
    AUTO_FREE char *missing = mem_format("%s: found no reference.py, which a workload needs beside "
                                         "workload.json",
                                         folder);
    assert_string_equal(before, missing);
    for (size_t i = 0; i < COUNT_OF(STEPS); i++) {
        AUTO_FREE char *text =
            STEPS[i][1][0] == '+' ? mem_format("%s\n", json) : mem_text(STEPS[i][1]);
        write_file(folder, STEPS[i][0], text);
        char *after = hash_or_error(folder);
        assert_int_equal(strspn(after, "0123456789abcdef"), HASH_TEXT - 1);
        assert_string_not_equal(before, after);
        write_file(folder, "notes.txt", before); /* does not count */
        AUTO_FREE char *same = hash_or_error(folder);
        assert_string_equal(after, same);
        free(before);
        before = after;
    }
    AUTO_FREE char *other = fs_join(folder, "other.py"), *renamed = fs_join(folder, "others.py");
    assert_int_equal(rename(other, renamed), 0);
    AUTO_FREE char *after = hash_or_error(folder);
    assert_string_not_equal(before, after);
    AUTO_FREE char *name = fs_join(folder, "workload.json"),
                   *former = fs_join(folder, "operator.json");
    assert_int_equal(rename(name, former), 0); /* changes nothing */
    AUTO_FREE char *same = hash_or_error(folder);
    assert_string_equal(after, same);
    free(before);
    assert_ok(fs_remove_tree(folder, &err));
}

/* Fills and scalars of a case follow its params; and a shape has up to eight sizes. */
static void test_expressions_over_params(void **state) {
    static const char TEXT[] =
        "{\"schema\": 1, \"name\": \"n\", \"params\": {\"rows\": {\"default\": 4}, \"cols\": "
        "{\"default\": 16}}, \"dtypes\": [\"f32\"], \"inputs\": [{\"name\": \"x\", \"dtype\": "
        "\"T\", "
        "\"shape\": [1, 1, 1, 1, 1, 1, \"rows\", \"cols\"], \"fill\": {\"normal\": [0, \"1 / "
        "cols\"]}}, "
        "{\"name\": \"i\", \"dtype\": \"i64\", \"shape\": [], \"fill\": {\"integers\": [-2, \"cols "
        "/ 3\"]}}, "
        "{\"name\": \"c\", \"dtype\": \"u8\", \"shape\": [], \"fill\": {\"constant\": \"cols / "
        "3\"}}], "
        "\"outputs\": [{\"name\": \"y\", \"dtype\": \"T\", \"shape\": [\"rows\"]}], \"scalars\": "
        "[{\"name\": "
        "\"scale\", \"dtype\": \"f32\", \"value\": \"cols ** -(1 / 2)\"}, {\"name\": \"half\", "
        "\"dtype\": "
        "\"i32\", \"value\": \"cols / 2\"}]}";
    static const fill_t FILLS[] = {{.kind = FILL_NORMAL, .low = 0, .high = 0.01},
                                   {.kind = FILL_INTEGERS, .low = -2, .high = 33},
                                   {.kind = FILL_CONSTANT, .low = 33, .high = 0}};
    static const double SCALARS[] = {0.1, 50};
    AUTO(description_free) description_t d;
    json_auto_t *json = json_loads(TEXT, 0, NULL);
    assert_ok(description_parse("n.json", json, &d, &err));
    AUTO(case_free) case_t spec = make_case("f32", 4, 100);
    for (size_t i = 0; i < 3; i++) {
        described_shape_t shape;
        assert_ok(description_shape(&d, i, &spec, &shape, &err));
        assert_int_equal(shape.n, i == 0 ? 400 : 1);
        assert_int_equal(shape.fill.kind, FILLS[i].kind);
        assert_true(shape.fill.low == FILLS[i].low);
        assert_true(shape.fill.high == FILLS[i].high || shape.fill.kind == FILL_CONSTANT);
    }
    for (size_t i = 0; i < 2; i++) {
        double value;
        assert_ok(description_scalar(&d, i, &spec, &value, &err));
        assert_true(value == SCALARS[i]);
    }
    case_free(&spec);
    spec = make_case("f32", 4, 1000);
    described_shape_t shape;
    assert_fails(description_shape(&d, 2, &spec, &shape, &err), STATUS_FAILED,
                 "c: fill: found 333, expected a value of u8: 0…255");
}

/* What no run copies for a rung, no other contender copies either. */
static void test_what_workers_are_told(void **state) {
    static const char TEXT[] =
        "{'schema': 1, 'name': 'told', 'params': {'n': {'default': 2048}, 'k': {'default': 3}},"
        " 'dtypes': ['f32'], 'size': 'n', 'splits': true, 'inputs': ["
        "{'name': 'x', 'shape': ['n', 'k'], 'dtype': 'T'}, {'name': 'u', 'shape': ['k'], 'dtype': "
        "'T'},"
        "{'name': 'w', 'shape': ['k'], 'dtype': 'T', 'weights': true},"
        "{'name': 'r', 'shape': ['k'], 'dtype': 'T', 'resident': true}],"
        " 'outputs': [{'name': 'y', 'shape': ['n'], 'dtype': 'T'}]}";
    AUTO_FREE char *text = mem_text(TEXT);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    AUTO(description_free) description_t description;
    json_auto_t *json = json_loads(text, 0, NULL), *told;
    const case_t spec = {.dtype = (char *)"f32"};
    assert_ok(description_parse("told", json, &description, &err));
    assert_ok(described_request(&description, &spec, &told, &err));
    assert_string_equal(json_string_value(json_object_get(told, "splits")), "n");
    AUTO(text_list_free) text_list_t flags = {0};
    size_t i;
    const json_t *array;
    json_array_foreach(json_object_get(told, "arrays"), i, array)
        text_list_add_format(&flags, "%s%s%s", json_string_value(json_object_get(array, "name")),
                             json_is_true(json_object_get(array, "stays")) ? " stays" : "",
                             json_is_true(json_object_get(array, "cut")) ? " cut" : "");
    AUTO_FREE char *found = text_list_join(&flags, ", ");
    assert_string_equal(found, "x cut, u, w stays, r stays, y cut");
}

/* A unit that says the param, as a word, is the axis's label by itself. */
static void test_units_of_sizes(void **state) {
    (void)state;
    static const struct {
        const char *unit, *before, *label, *after;
    } UNITS[] = {{"row", NULL, "row", " row"},
                 {"row of x", NULL, "row of x", " row"},
                 {"row of x", "line ", "row of x", NULL},
                 {"rows of x", NULL, "row, rows of x", NULL},
                 {"of x", NULL, "row, of x", NULL}};
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        description_t d;
        json_t *json = json_pack(
            "{s:i, s:s, s:{s:{s:i}}, s:[s], s:[{s:s, s:[s], s:s}], s:[{s:s, s:[s], s:s}],"
            " s:{s:s, s:s, s:s*}}",
            "schema", 1, "name", "a", "params", "row", "default", 8, "dtypes", "f32", "inputs",
            "name", "x", "shape", "row", "dtype", "T", "outputs", "name", "y", "shape", "row",
            "dtype", "T", "size", "param", "row", "unit", UNITS[i].unit, "before", UNITS[i].before);
        assert_ok(description_parse("size.json", json, &d, &err));
        assert_string_equal(d.workload.size_label, UNITS[i].label);
        if (UNITS[i].after != NULL)
            assert_string_equal(d.workload.size_after, UNITS[i].after);
        else
            assert_null(d.workload.size_after);
        if (UNITS[i].before != NULL)
            assert_string_equal(d.workload.size_before, UNITS[i].before);
        else
            assert_null(d.workload.size_before);
        description_free(&d);
        json_decref(json);
    }
}

static void test_missing_folder(void **state) {
    AUTO_FREE char *text = hash_or_error("no/such/operator");
    assert_true(text_starts(text, "no/such/operator/workload.json: "));
}

#define GROUP_SET_UP load_everything
#define GROUP_TEAR_DOWN free_everything
#include "run_tests.h"
