/* An operator as a workload: constants of its programs, its parameters, the request to its workers. */
#include "checks.h"
#include "made_case.h"
#include "measure/contender.h"
#include "read_text.h"
#include "temporary_folder.h"
#include "workloads/described/described.h"

#include <jansson.h>
#include <math.h>

#define EVERYTHING "tests/fixtures/operators/everything"

static int add(void **state) {
    const description_t *added;
    assert_ok(described_add(EVERYTHING, NULL, &added, &err));
    *state = (void *)workload_find(added->name);
    return *state == NULL;
}

static case_t case_of(const workload_t *workload, const char *dtype) {
    case_t spec = workload_defaults(workload);
    free(spec.engine);
    free(spec.dtype);
    spec.engine = mem_text("cuda");
    spec.dtype = mem_text(dtype);
    return spec;
}

static const char *const EXPECTED =
    "WORKLOAD_ARGUMENTS=const T *__restrict__ x, const long long *__restrict__ order, "
    "const bool *__restrict__ mask, array_list<const __nv_bfloat16, 2> const WORKLOAD_CONSTANT "
    "noise, "
    "float *__restrict__ state, T *__restrict__ y, long long *__restrict__ largest, "
    "double *__restrict__ sum, unsigned char *workspace, float eps, long long axis, "
    "long long rows, long long shift";

static void test_constants_of_a_program(void **state) {
    AUTO(text_list_free) text_list_t defines = {0};
    AUTO(case_free) case_t spec = case_of(*state, "f16");
    ((const workload_t *)*state)->constants(&spec, &defines);
    const char *const here[] = {EXPECTED,           "WORKLOAD_TYPES=typedef __half T;",
                                "WORKLOAD_F16=1",   "WORKLOAD_BF16=1",
                                "DTYPE_F16=1",      "DTYPE_F32=0",
                                "DTYPE_I32=0",      "COLS=128",
                                "LAYERS=4,3",       "N_LAYERS=2",
                                "LAYERS_0=4",       "LAYERS_1=3",
                                "BY_VALUE_BYTES=28"};
    bool has_values = false;
    for (size_t i = 0; i < defines.n; i++)
        has_values |= text_starts(defines.items[i], "BY_VALUE_ARGUMENTS=const T *") &&
                      strstr(defines.items[i], " mask, by_value_list<__nv_bfloat16, 8, 6> const "
                                               "WORKLOAD_CONSTANT noise, float *") != NULL;
    assert_true(has_values);
    for (size_t i = 0; i < COUNT_OF(here); i++)
        if (!text_list_has(&defines, here[i]))
            fail_msg("no %s", here[i]);
    assert_false(text_list_has(&defines, "ROWS=64"));
}

static const char *const EXPECTED_IN_C =
    "WORKLOAD_ARGUMENTS=const T *__restrict__ x, const long long *__restrict__ order, "
    "const _Bool *__restrict__ mask, const __bf16 *const *__restrict__ noise, "
    "float *__restrict__ state, T *__restrict__ y, long long *__restrict__ largest, "
    "double *__restrict__ sum, float eps, long long axis, long long rows, long long shift";

static void test_constants_in_c(void **state) {
    AUTO(text_list_free) text_list_t defines = {0};
    AUTO(case_free) case_t spec = case_of(*state, "f16");
    free(spec.engine);
    spec.engine = mem_text("cpu");
    ((const workload_t *)*state)->constants(&spec, &defines);
    assert_true(text_list_has(&defines, EXPECTED_IN_C));
    assert_true(text_list_has(&defines, "WORKLOAD_TYPES=typedef _Float16 T;"));
    bool has_call = false;
    for (size_t i = 0; i < defines.n; i++)
        has_call |=
            text_starts(defines.items[i], "WORKLOAD_CALL=*(const T * const *)arguments[0], ") &&
            text_ends(defines.items[i], ", *(long long const *)arguments[11]");
    assert_true(has_call);
}

static void test_only_dtypes_in_use_need_headers(void **state) {
    AUTO(text_list_free) text_list_t defines = {0};
    AUTO(case_free) case_t spec = case_of(*state, "f32");
    ((const workload_t *)*state)->constants(&spec, &defines);
    assert_true(text_list_has(&defines, "WORKLOAD_TYPES=typedef float T;"));
    assert_true(text_list_has(&defines, "WORKLOAD_F16=0"));
    assert_true(text_list_has(&defines, "WORKLOAD_BF16=1")); /* of `noise` */
}

static void test_letters_are_types_in_programs_and_in_requests(void **state) {
    const description_t *d;
    AUTO(text_list_free) text_list_t defines = {0};
    json_t *request;
    assert_ok(described_add("tests/fixtures/operators/linear", NULL, &d, &err));
    const workload_t *workload = workload_find(d->name);
    AUTO(case_free) case_t spec = case_of(workload, "mixed");
    workload->constants(&spec, &defines);
    static const char *const HERE[] = {"WORKLOAD_TYPES=typedef __half T; typedef float W;",
                                       "DTYPE_MIXED=1", "DTYPE_TF32=0", "DTYPE_F32=0",
                                       "WORKLOAD_F16=1"};
    for (size_t i = 0; i < COUNT_OF(HERE); i++)
        if (!text_list_has(&defines, HERE[i]))
            fail_msg("no %s", HERE[i]);
    assert_string_equal(workload->arithmetic(&spec), "f16");
    assert_string_equal(workload->factors(&spec), "f16");
    assert_true(workload->tolerance(&spec) == 2e-3);
    assert_ok(described_request(d, &spec, &request, &err));
    AUTO_FREE char *types = json_dumps(json_object_get(request, "types"), JSON_COMPACT);
    assert_string_equal(types, "{\"T\":\"f16\",\"W\":\"f32\"}");
    assert_true(json_is_false(json_object_get(request, "tf32")));
    json_decref(request);
    case_free(&spec);
    spec = case_of(workload, "tf32");
    assert_ok(described_request(d, &spec, &request, &err));
    assert_true(json_is_true(json_object_get(request, "tf32")));
    json_decref(request);
}

/* kernels/linreg_train: what a case's size and steps decide, and what its id leaves out. */
static void test_a_training_whose_steps_are_passes(void **state) {
    const description_t *d;
    bounds_t bounds;
    assert_ok(described_add("kernels/linreg_train", NULL, &d, &err));
    const workload_t *workload = workload_find(d->name);
    AUTO(case_free) case_t spec = {.engine = mem_text("cpu"), .variant = mem_text("omp")};
    workload_complete(workload, &spec);
    assert_string_equal(spec.id, "linreg_train/cpu/omp/points=5000000");
    assert_true(workload->tolerance(&spec) == 5e-6);
    assert_true(workload->bounded_by == BOUNDED_BY_PASSES);
    assert_true(workload->cost(&spec).further_passes == 199);
    assert_true(description_scalar_value(d, 0, &spec).f64 == 0.01);
    case_free(&spec);
    spec = (case_t){.engine = mem_text("cpu"), .variant = mem_text("omp")};
    add_integer(&spec, "points", 25);
    case_add_param(&spec, "rate", &(value_t){.kind = VALUE_REAL, .real = 0.5});
    add_integer(&spec, "epochs", 3);
    workload_complete(workload, &spec);
    assert_string_equal(spec.id, "linreg_train/cpu/omp/points=25/epochs=3/rate=0.5");
    assert_true(description_scalar_value(d, 0, &spec).f64 == 0.5);
    assert_true(fabs(workload->bounds(&spec, "loss").rel_l2 - 2e-5) < 1e-18);
    assert_true(workload->cost(&spec).further_passes == 2);
    assert_ok(workload->validate(&spec, &err));

    json_auto_t *json = json_deep_copy(d->json);
    json_t *tolerance = json_pack("{s:s}", "rel_l2", "points / 5000000");
    json_object_set_new(json_array_get(json_object_get(json, "outputs"), 0), "tolerance",
                        tolerance);
    description_t other;
    assert_ok(description_parse("a", json, &other, &err));
    case_free(&spec);
    spec = made_case("linreg_train", "cpu", "cpu", "omp");
    add_integer(&spec, "points", 10000000);
    assert_fails(description_bounds_of(&other, 3, 0, &spec, &bounds, &err), STATUS_FAILED,
                 "loss: rel_l2: \"points / 5000000\": 2, expected 0…1");
    json_object_set_new(tolerance, "rel_l2", json_string("point"));
    description_free(&other);
    assert_fails_with(description_parse("a", json, &other, &err), STATUS_USAGE,
                      "unknown name \"point\"");
}

/* The resident mask and the noise, which is weights, do not cross the bus. */
static void test_what_has_to_be_copied(void **state) {
    AUTO(case_free) case_t spec = case_of(*state, "f16");
    const workload_cost_t cost = ((const workload_t *)*state)->cost(&spec);
    const double x = 64 * 256 * 3 * 2, order = 64 * 8, state_bytes = 16 * 128 * 4, mask = 1;
    const double noise = (4 + 3) * 2 * 2;
    const double outputs = 64 * 200 * 2 + 8 + 8;
    assert_float_equal(cost.bus_in_bytes, x + order + state_bytes, 0);
    assert_float_equal(cost.bus_out_bytes, state_bytes + outputs, 0);
    assert_float_equal(cost.device_bytes, x + order + state_bytes + mask + noise + outputs, 0);
}

static void test_request(void **state) {
    json_auto_t *request;
    AUTO(case_free) case_t spec = case_of(*state, "f16");
    const description_t *d = described_find("everything");
    assert_ok(described_request(d, &spec, &request, &err));
    assert_string_equal(json_string_value(json_object_get(request, "hash")), d->hash);
    assert_string_equal(json_string_value(json_object_get(request, "folder")), d->folder);
    assert_int_equal(d->folder[0], '/');
    const json_t *arrays = json_object_get(request, "arrays");
    assert_int_equal(json_array_size(arrays), 9);
    static const char *const ARRAYS[] = {
        [0] = "{\"name\":\"x\",\"shape\":[64,256,3],\"dtype\":\"f16\",\"input\":true,"
              "\"output\":false,\"fill\":{\"kind\":\"integers\",\"low\":-4.0,\"high\":5.0}}",
        [2] = "{\"name\":\"state\",\"shape\":[16,128],\"dtype\":\"f32\",\"input\":true,"
              "\"output\":true,\"fill\":{\"kind\":\"uniform\",\"low\":-0.5,\"high\":1.5}}",
        [3] = "{\"name\":\"mask\",\"shape\":[],\"dtype\":\"bool\",\"input\":true,\"output\":false,"
              "\"stays\":true,\"fill\":{\"kind\":\"constant\",\"low\":1.0,\"high\":0.0}}",
        [5] = "{\"name\":\"noise_1\",\"shape\":[3,2],\"dtype\":\"bf16\",\"input\":true,\"output\":"
              "false,"
              "\"list\":\"noise\",\"stays\":true,\"fill\":{\"kind\":\"normal\",\"low\":0.0,"
              "\"high\":1.0}}",
        [8] = "{\"name\":\"sum\",\"shape\":[],\"dtype\":\"f64\",\"input\":false,"
              "\"output\":true}"};
    for (size_t i = 0; i < COUNT_OF(ARRAYS); i++) {
        AUTO_FREE char *text = json_dumps(json_array_get(arrays, i), JSON_COMPACT);
        if (ARRAYS[i] != NULL)
            assert_string_equal(text, ARRAYS[i]);
    }
    const json_t *eps = json_array_get(json_object_get(request, "scalars"), 0);
    assert_string_equal(json_string_value(json_object_get(eps, "dtype")), "f32");
    assert_true(json_real_value(json_object_get(eps, "value")) == 1e-5);
}

/* ---- a training ------------------------------------------------------------------------------- */

static case_t training_of(const char *engine, const char *copy, const workload_t **workload) {
    const description_t *added;
    assert_ok(described_add("kernels/linreg_train", NULL, &added, &err));
    *workload = workload_find("linreg_train");
    case_t spec = workload_defaults(*workload);
    free(spec.engine);
    spec.engine = mem_text(engine);
    case_drop_techniques(&spec);
    case_add_technique(&spec, "copy", copy);
    return spec;
}

static bool ends(const text_list_t *defines, const char *start, const char *end) {
    for (size_t i = 0; i < defines->n; i++)
        if (text_starts(defines->items[i], start))
            return text_ends(defines->items[i], end);
    return false;
}

/* Kernels are launched in each step; a function in C is called once. */
static void test_constants_of_a_training(void **state) {
    for (int in_c = 0; in_c < 2; in_c++) {
        const workload_t *workload;
        AUTO(text_list_free) text_list_t defines = {0};
        AUTO(case_free) case_t spec = training_of(in_c ? "cpu" : "cuda", "pinned", &workload);
        workload->constants(&spec, &defines);
        assert_true(text_list_has(&defines, "WORKLOAD_STEPS=200"));
        assert_true(ends(&defines, "WORKLOAD_ARGUMENTS=",
                         in_c ? ", long long epochs" : ", long long epochs WORKLOAD_STEP"));
    }
}

static void test_request_of_a_training(void **state) {
    const workload_t *workload;
    json_auto_t *request;
    AUTO(case_free) case_t spec = training_of("cuda", "pinned", &workload);
    assert_true(workload->has_loss);
    assert_ok(described_request(described_find("linreg_train"), &spec, &request, &err));
    assert_int_equal(json_integer_value(json_object_get(request, "steps")), 200);
    const json_t *loss = json_array_get(json_object_get(request, "arrays"), 3);
    assert_int_equal(json_integer_value(json_object_get(loss, "every")), 10);
}

/* Its sample is an epoch, and w and b are lists, whose parts have the bounds of the list. */
static void test_a_training_of_lists(void **state) {
    const description_t *added;
    AUTO(text_list_free) text_list_t defines = {0};
    assert_ok(described_add("kernels/mlp_train", NULL, &added, &err));
    const workload_t *workload = workload_find(added->name);
    AUTO(case_free) case_t spec = case_of(workload, "f32");
    workload->constants(&spec, &defines);
    assert_true(text_list_has(
        &defines,
        "WORKLOAD_ARGUMENTS=const T *__restrict__ x, const unsigned char *__restrict__ labels, "
        "const int *__restrict__ order, array_list<T, 4> const WORKLOAD_CONSTANT w, "
        "array_list<T, 4> const WORKLOAD_CONSTANT b, float *__restrict__ loss, "
        "unsigned char *workspace, float rate, long long epochs, long long seed, long long images "
        "WORKLOAD_STEP"));
    assert_string_equal(workload->compared_by, "train");
    assert_true(described_is_by_step(added));
    assert_true(!workload->steps_are_epochs && workload_find("linreg_train")->steps_are_epochs);
    const bounds_t bounds = workload->bounds(&spec, "b_2");
    assert_true(bounds.of_change && bounds.rel_l2 == 0.2);
    assert_int_equal(workload->bounds(&spec, "loss").first, 50);
}

static void test_a_training_is_not_cut(void **state) {
    const workload_t *workload;
    AUTO(case_free) case_t spec = training_of("cuda", "overlapped", &workload);
    assert_fails(workload->validate(&spec, &err), STATUS_FAILED,
                 "copy=overlapped: linreg_train is a training, whose steps need all of "
                 "the input and the step before");
}

static void test_the_default_techniques_come_first(void **state) {
    static const char *const ALLOC[] = {"malloc", "async", "arena", "caching", NULL};
    const technique_spec_t *alloc = workload_technique(*state, "alloc");
    for (size_t i = 0; i < COUNT_OF(ALLOC); i++)
        assert_true(ALLOC[i] == NULL ? alloc->choices[i] == NULL
                                     : strcmp(alloc->choices[i], ALLOC[i]) == 0);
    assert_string_equal(workload_technique(*state, "launch")->choices[0], "stream");
    const description_t *added;
    assert_ok(described_add("tests/fixtures/operators/smallest", NULL, &added, &err));
    assert_string_equal(workload_technique(workload_find(added->name), "alloc")->choices[0],
                        "arena");
}

/* Which a kernel for a part of the size must not mention. */
static void test_a_constant_that_is_offered(void **state) {
    const description_t *added;
    AUTO(text_list_free) text_list_t defines = {0}, in_parts = {0};
    assert_ok(described_add("kernels/mlp_infer", NULL, &added, &err));
    const workload_t *workload = workload_find(added->name);
    AUTO(case_free) case_t spec = workload_defaults(workload);
    workload->constants(&spec, &defines);
    assert_true(text_list_has(&defines, "BATCH=64"));
    case_drop_techniques(&spec);
    case_add_technique(&spec, "copy", "overlapped");
    workload->constants(&spec, &in_parts);
    assert_true(text_list_has(&in_parts,
                              "BATCH=SKIP: copy=overlapped launches kernels for parts of "
                              "batch, and this one is compiled for all of it: it "
                              "mentions BATCH"));
    for (size_t i = 0; i < defines.n; i++)
        if (text_starts(defines.items[i], "WORKLOAD_ARGUMENTS="))
            assert_true(text_ends(defines.items[i], ", long long batch"));
}

static void test_two_runs_must_be_equal_if_the_description_says_so(void **state) {
    assert_int_equal(((const workload_t *)*state)->repeats, REPEATS_MUST_BE_EQUAL);
    const description_t *added;
    assert_ok(described_add("tests/fixtures/operators/smallest", NULL, &added, &err));
    assert_int_equal(workload_find(added->name)->repeats, REPEATS_ARE_COMPARED);
    assert_int_equal(workload_find("mlp_infer")->repeats, REPEATS_ARE_COMPARED);
}

static void test_the_same_folder_twice_is_one_operator(void **state) {
    const description_t *first = described_find("everything"), *again;
    assert_ok(described_add(EVERYTHING, NULL, &again, &err));
    assert_ptr_equal(again, first);
}

static void write_description(const char *folder, const char *dtype) {
    AUTO_FREE char *path = fs_join(folder, "workload.json"),
                   *reference = fs_join(folder, "reference.py");
    char *text =
        mem_format("{\"schema\": 1, \"name\": \"changing\", \"params\": {\"n\": {\"default\": 4}}, "
                   "\"dtypes\": [\"%s\"], \"inputs\": [{\"name\": \"x\", \"shape\": [\"n\"], "
                   "\"dtype\": \"T\", "
                   "\"fill\": \"ones\"}], \"outputs\": [{\"name\": \"y\", \"shape\": [\"n\"], "
                   "\"dtype\": \"T\"}]}",
                   dtype);
    assert_ok(fs_write_atomic(path, text, strlen(text), &err) != STATUS_OK ||
              fs_write_atomic(reference, "", 0, &err));
    free(text);
}

static void test_a_description_that_changes_in_use(void **state) {
    char *folder;
    const description_t *added;
    error_t err = ERROR_INIT;
    folder = temporary_folder();
    write_description(folder, "f32");
    assert_int_equal(described_add(folder, NULL, &added, &err), STATUS_OK);
    write_description(folder, "f64");
    assert_int_equal(described_add(folder, NULL, &added, &err), STATUS_USAGE);
    AUTO_FREE char *expected = mem_format(
        "%s: a file of the workload \"changing\" was changed while it was in use", folder);
    assert_string_equal(err.text, expected);
    fs_remove_temporary(&folder);
}

static void test_operators_compile_under_one_name(void **state) {
    json_auto_t *hello = json_pack("{s:{s:[s, s], s:[s]}}", "compiles", "operator", "compile",
                                   "*+compile", "mlp_infer", "eager");
    static const struct {
        const char *variant;
        bool is_tuned;
    } CASES[] = {{"compile", true}, {"eager", false}, {"mine+compile", true}, {"mine", false}};
    AUTO(case_free) case_t spec = case_of(*state, "f32");
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        free(spec.variant);
        spec.variant = mem_text(CASES[i].variant);
        assert_int_equal(open_request_is_tuned(hello, &spec), CASES[i].is_tuned);
    }
}

#define GROUP_SET_UP add
#define GROUP_TEAR_DOWN NULL
#include "run_tests.h"
