/* Ids and groups: what names a case, and which cases are measured together. */
#include "checks.h"
#include "model/case.h"
#include "workloads/common/workload.h"

static value_t integer(int64_t i) {
    return (value_t){.kind = VALUE_INT, .integer = i};
}

typedef struct naming {
    const char *engine, *device, *variant, *dtype; /* NULL: the default */
    int64_t batch;
    int64_t layers[4]; /* ends with 0; none: the default */
    const char *technique, *choice;
    const char *id, *group;
} naming_t;

static const naming_t NAMINGS[] = {
    {"cuda",
     NULL,
     "03_vectorized",
     NULL,
     64,
     {0},
     NULL,
     NULL,
     "mlp_infer/cuda/03_vectorized/batch=64",
     "mlp_infer/batch=64/f32"},
    {"cuda",
     NULL,
     "03_vectorized",
     NULL,
     64,
     {0},
     "copy",
     "pinned",
     "mlp_infer/cuda/03_vectorized/batch=64/copy=pinned",
     "mlp_infer/batch=64/f32"},
    {"cuda",
     NULL,
     "03_vectorized",
     NULL,
     64,
     {0},
     "copy",
     "pageable",
     "mlp_infer/cuda/03_vectorized/batch=64",
     "mlp_infer/batch=64/f32"},
    {"cuda",
     NULL,
     "03_vectorized",
     "f16",
     64,
     {0},
     NULL,
     NULL,
     "mlp_infer/cuda/03_vectorized/batch=64/dtype=f16",
     "mlp_infer/batch=64/f16"},
    {"cpu",
     NULL,
     "omp",
     NULL,
     1,
     {8, 16, 4},
     NULL,
     NULL,
     "mlp_infer/cpu/omp/batch=1/layers=8-16-4",
     "mlp_infer/batch=1/layers=8-16-4/f32"},
    {"cpu",
     NULL,
     "omp",
     NULL,
     1,
     {4, 5, 1},
     NULL,
     NULL,
     "mlp_infer/cpu/omp/batch=1",
     "mlp_infer/batch=1/f32"},
    {"pytorch",
     "cuda",
     "eager",
     NULL,
     2,
     {0},
     NULL,
     NULL,
     "mlp_infer/pytorch-cuda/eager/batch=2",
     "mlp_infer/batch=2/f32"},
    {"pytorch",
     "cpu",
     "eager",
     NULL,
     2,
     {0},
     NULL,
     NULL,
     "mlp_infer/pytorch-cpu/eager/batch=2",
     "mlp_infer/batch=2/f32"},
    {"mine",
     NULL,
     "fast",
     NULL,
     2,
     {0},
     NULL,
     NULL,
     "mlp_infer/mine-cpu/fast/batch=2",
     "mlp_infer/batch=2/f32"},
};

static case_t make_case(const naming_t *naming) {
    case_t spec = {.engine = mem_text(naming->engine),
                   .device = mem_text(naming->device),
                   .variant = mem_text(naming->variant),
                   .dtype = mem_text(naming->dtype)};
    value_t batch = integer(naming->batch);
    case_add_param(&spec, "batch", &batch);
    value_t layers = {.kind = VALUE_INTS, .ints = (int64_t *)naming->layers};
    while (naming->layers[layers.n_ints] != 0)
        layers.n_ints++;
    if (layers.n_ints > 0)
        case_add_param(&spec, "layers", &layers);
    if (naming->technique != NULL)
        case_add_technique(&spec, naming->technique, naming->choice);
    workload_complete(workload_find("mlp_infer"), &spec);
    return spec;
}

static void test_ids_and_groups(void **state) {
    for (size_t i = 0; i < COUNT_OF(NAMINGS); i++) {
        AUTO(case_free) case_t spec = make_case(&NAMINGS[i]);
        AUTO_FREE char *group = workload_group(workload_find("mlp_infer"), &spec);
        assert_string_equal(spec.id, NAMINGS[i].id);
        assert_string_equal(group, NAMINGS[i].group);
    }
}

/* Setting the id anew replaces it. */
static void test_id_again(void **state) {
    AUTO(case_free)
    case_t spec = make_case(&NAMINGS[0]), defaults = workload_defaults(workload_find("mlp_infer"));
    case_set_id(&spec, &defaults, NULL, 0);
    assert_string_equal(spec.id, "mlp_infer/cuda/03_vectorized"); /* 64 is the default */
    const char *always[] = {"batch", "layers"};
    case_set_id(&spec, &defaults, always, 2);
    assert_string_equal(spec.id, "mlp_infer/cuda/03_vectorized/batch=64/layers=4-5-1");
}

static void test_labels_and_built_in_engines(void **state) {
    char text[32];
    case_t spec = {.engine = (char[]){"a_very_long_name_of_an_engine_indeed"}};
    assert_true(strlen(case_engine_label(&spec, text)) < sizeof text);
    assert_int_equal(strncmp(text, "a_very_long_name", 16), 0);
    static const char *const BUILT_IN[] = {"cuda", "cpu", "null"};
    for (size_t i = 0; i < 3; i++) {
        spec = (case_t){.engine = (char *)BUILT_IN[i], .device = (char[]){"cuda"}};
        assert_true(case_engine_is_built_in(BUILT_IN[i]));
        assert_string_equal(case_engine_label(&spec, text), BUILT_IN[i]);
    }
    assert_false(case_engine_is_built_in("pytorch"));
    assert_false(case_engine_is_built_in("CUDA"));
}

static void test_value_texts(void **state) {
    const struct {
        value_t value;
        const char *text;
    } table[] = {
        {integer(INT64_MIN), "-9223372036854775808"},
        {{.kind = VALUE_REAL, .real = 0.01}, "0.01"},
        {{.kind = VALUE_REAL, .real = 1e-7}, "1e-07"},
        {{.kind = VALUE_TEXT, .text = (char[]){"pinned"}}, "pinned"},
        {{.kind = VALUE_INTS, .ints = (int64_t[]){4, 5, 1}, .n_ints = 3}, "4-5-1"},
        {{.kind = VALUE_INTS}, ""},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        AUTO_FREE char *text = value_text(&table[i].value);
        assert_string_equal(text, table[i].text);
        for (size_t k = 0; k < COUNT_OF(table); k++)
            assert_int_equal(value_equal(&table[i].value, &table[k].value), i == k);
    }
}

static void test_look_up(void **state) {
    case_t spec = make_case(&NAMINGS[1]);
    assert_int_equal(case_param_int(&spec, "batch", -1), 64);
    assert_int_equal(case_param_int(&spec, "absent", -1), -1);
    assert_int_equal(case_param_int(&spec, "layers", -1), -1); /* a list is no integer */
    assert_null(case_param(&spec, "absent"));
    assert_string_equal(case_technique(&spec, "copy"), "pinned");
    assert_null(case_technique(&spec, "batch"));
    case_free(&spec);
    assert_null(spec.id);
}

/* A copy owns all that it holds. */
static void test_copy(void **state) {
    AUTO(case_free) case_t spec = make_case(&NAMINGS[4]), copy = case_copy(&spec);
    assert_string_equal(copy.id, NAMINGS[4].id);
    assert_string_equal(copy.device, "cpu");
    assert_int_equal(copy.n_params, 2);
    assert_int_equal(case_param(&copy, "layers")->ints[1], 16);
    assert_int_equal(copy.n_techniques, 0);
}

static void test_what_compiles(void **state) {
    static const struct {
        const char *engine, *variant;
        bool compiles;
    } CASES[] = {
        {"pytorch", "compile", true},       {"pytorch", "compile_graph", true},
        {"pytorch", "combo_graph", true},   {"pytorch", "manual_graph", true},
        {"pytorch", "mapped", true},        {"pytorch", "graph", false},
        {"pytorch", "eager", false},        {"python", "mine+compile", true},
        {"python", "mine+graph", false},    {"jax", "compile", false},
        {"cuda", "01_compile_time", false},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        const case_t spec = {.engine = (char *)CASES[i].engine,
                             .variant = (char *)CASES[i].variant};
        assert_int_equal(case_compiles(&spec), CASES[i].compiles);
    }
}

#include "run_tests.h"
