/* An operator as a workload: constants of its programs, its parameters, the request to its workers. */
#include "checks.h"
#include "measure/contender.h"
#include "read_text.h"
#include "temporary_folder.h"
#include "workloads/described/described.h"

#include <jansson.h>

#define EVERYTHING "tests/fixtures/operators/everything"

static int add(void **state) {
    const description_t *added;
    assert_ok(described_add(EVERYTHING, NULL, &added, &err));
    *state = (void *)workload_find(added->name);
    return *state == NULL;
}

static case_t case_of(const workload_t *workload, const char *dtype) {
    case_t spec = workload_defaults(workload);
    free(spec.dtype);
    spec.dtype = mem_text(dtype);
    return spec;
}

static const char *const EXPECTED =
    "WORKLOAD_ARGUMENTS=const WORKLOAD_T *__restrict__ x, const long long *__restrict__ order, "
    "const bool *__restrict__ mask, by_value<__nv_bfloat16, 4> const WORKLOAD_CONSTANT noise, "
    "float *__restrict__ state, WORKLOAD_T *__restrict__ y, long long *__restrict__ largest, "
    "double *__restrict__ sum, unsigned char *workspace, float eps, long long axis, "
    "long long rows, long long shift";

static void test_constants_of_a_program(void **state) {
    text_list_t defines = {0};
    case_t spec = case_of(*state, "f16");
    ((const workload_t *)*state)->constants(&spec, &defines);
    const char *const here[] = {EXPECTED,          "WORKLOAD_T=__half", "WORKLOAD_F16=1",
                                "WORKLOAD_BF16=1", "DTYPE_F16=1",       "DTYPE_F32=0",
                                "DTYPE_BOOL=0",    "COLS=128"};
    for (size_t i = 0; i < COUNT_OF(here); i++)
        if (!text_list_has(&defines, here[i]))
            fail_msg("no %s", here[i]);
    assert_false(text_list_has(&defines, "ROWS=64"));
    text_list_free(&defines);
    case_free(&spec);
}

static const char *const EXPECTED_IN_C =
    "WORKLOAD_ARGUMENTS=const WORKLOAD_T *__restrict__ x, const long long *__restrict__ order, "
    "const _Bool *__restrict__ mask, const __bf16 *__restrict__ noise, "
    "float *__restrict__ state, WORKLOAD_T *__restrict__ y, long long *__restrict__ largest, "
    "double *__restrict__ sum, float eps, long long axis, long long rows, long long shift";

static void test_constants_in_c(void **state) {
    text_list_t defines = {0};
    case_t spec = case_of(*state, "f16");
    free(spec.engine);
    spec.engine = mem_text(ENGINE_C);
    ((const workload_t *)*state)->constants(&spec, &defines);
    assert_true(text_list_has(&defines, EXPECTED_IN_C));
    assert_true(text_list_has(&defines, "WORKLOAD_T=_Float16"));
    bool has_call = false;
    for (size_t i = 0; i < defines.n; i++)
        has_call |= text_starts(defines.items[i],
                                "WORKLOAD_CALL=*(const WORKLOAD_T * const *)arguments[0], ") &&
                    text_ends(defines.items[i], ", *(long long const *)arguments[11]");
    assert_true(has_call);
    text_list_free(&defines);
    case_free(&spec);
}

static void test_only_dtypes_in_use_need_headers(void **state) {
    text_list_t defines = {0};
    case_t spec = case_of(*state, "f32");
    ((const workload_t *)*state)->constants(&spec, &defines);
    assert_true(text_list_has(&defines, "WORKLOAD_T=float"));
    assert_true(text_list_has(&defines, "WORKLOAD_F16=0"));
    assert_true(text_list_has(&defines, "WORKLOAD_BF16=1")); /* of `noise` */
    text_list_free(&defines);
    case_free(&spec);
}

/* The resident mask and the noise by value do not cross the bus; the latter is not in the device's memory either. */
static void test_what_has_to_be_copied(void **state) {
    case_t spec = case_of(*state, "f16");
    const workload_cost_t cost = ((const workload_t *)*state)->cost(&spec);
    const double x = 64 * 256 * 3 * 2, order = 64 * 8, state_bytes = 16 * 128 * 4, mask = 1;
    const double outputs = 64 * 200 * 2 + 8 + 8;
    assert_float_equal(cost.bus_in_bytes, x + order + state_bytes, 0);
    assert_float_equal(cost.bus_out_bytes, state_bytes + outputs, 0);
    assert_float_equal(cost.device_bytes, x + order + state_bytes + mask + outputs, 0);
    case_free(&spec);
}

static void test_request(void **state) {
    json_t *request;
    case_t spec = case_of(*state, "f16");
    const description_t *d = described_find("everything");
    assert_ok(described_request(d, &spec, &request, &err));
    assert_string_equal(json_string_value(json_object_get(request, "hash")), d->hash);
    assert_string_equal(json_string_value(json_object_get(request, "folder")), d->folder);
    assert_int_equal(d->folder[0], '/');
    const json_t *arrays = json_object_get(request, "arrays");
    assert_int_equal(json_array_size(arrays), 8);
    static const char *const ARRAYS[] = {
        [0] = "{\"name\":\"x\",\"shape\":[64,256,3],\"dtype\":\"f16\",\"input\":true,"
              "\"output\":false,\"fill\":{\"kind\":\"integers\",\"low\":-4.0,\"high\":5.0}}",
        [2] = "{\"name\":\"state\",\"shape\":[16,128],\"dtype\":\"f32\",\"input\":true,"
              "\"output\":true,\"fill\":{\"kind\":\"uniform\",\"low\":-0.5,\"high\":1.5}}",
        [3] = "{\"name\":\"mask\",\"shape\":[],\"dtype\":\"bool\",\"input\":true,\"output\":false,"
              "\"stays\":true,\"fill\":{\"kind\":\"constant\",\"low\":1.0,\"high\":0.0}}",
        [4] =
            "{\"name\":\"noise\",\"shape\":[4],\"dtype\":\"bf16\",\"input\":true,\"output\":false,"
            "\"stays\":true,\"fill\":{\"kind\":\"normal\",\"low\":0.0,\"high\":1.0}}",
        [7] = "{\"name\":\"sum\",\"shape\":[],\"dtype\":\"f64\",\"input\":false,"
              "\"output\":true}"};
    for (size_t i = 0; i < COUNT_OF(ARRAYS); i++) {
        char *text = json_dumps(json_array_get(arrays, i), JSON_COMPACT);
        if (ARRAYS[i] != NULL)
            assert_string_equal(text, ARRAYS[i]);
        free(text);
    }
    const json_t *eps = json_array_get(json_object_get(request, "scalars"), 0);
    assert_string_equal(json_string_value(json_object_get(eps, "dtype")), "f32");
    assert_true(json_real_value(json_object_get(eps, "value")) == 1e-5);
    json_decref(request);
    case_free(&spec);
}

static void test_two_runs_must_be_equal_if_the_description_says_so(void **state) {
    assert_int_equal(((const workload_t *)*state)->repeats, REPEATS_MUST_BE_EQUAL);
    const description_t *added;
    assert_ok(described_add("tests/fixtures/operators/smallest", NULL, &added, &err));
    assert_int_equal(workload_find(added->name)->repeats, REPEATS_ARE_COMPARED);
    assert_int_equal(workload_find("mlp_infer")->repeats, REPEATS_ARE_NOT_COMPARED);
}

static void test_the_same_folder_twice_is_one_operator(void **state) {
    const description_t *first = described_find("everything"), *again;
    assert_ok(described_add(EVERYTHING, NULL, &again, &err));
    assert_ptr_equal(again, first);
}

static void write_description(const char *folder, const char *dtype) {
    char *path = fs_join(folder, "workload.json"), *reference = fs_join(folder, "reference.py");
    char *text =
        mem_format("{\"schema\": 1, \"name\": \"changing\", \"params\": {\"n\": {\"default\": 4}}, "
                   "\"dtypes\": [\"%s\"], \"inputs\": [{\"name\": \"x\", \"shape\": [\"n\"], "
                   "\"dtype\": \"T\", "
                   "\"fill\": \"ones\"}], \"outputs\": [{\"name\": \"y\", \"shape\": [\"n\"], "
                   "\"dtype\": \"T\"}]}",
                   dtype);
    error_t err = ERROR_INIT;
    if (fs_write_atomic(path, text, strlen(text), &err) != STATUS_OK ||
        fs_write_atomic(reference, "", 0, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    free(text);
    free(reference);
    free(path);
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
    char *expected = mem_format(
        "%s: a file of the workload \"changing\" was changed while it was in use", folder);
    assert_string_equal(err.text, expected);
    free(expected);
    fs_remove_temporary(&folder);
}

static void test_operators_compile_under_one_name(void **state) {
    json_t *hello = json_pack("{s:{s:[s, s], s:[s]}}", "compiles", "operator", "compile",
                              "*+compile", "mlp_infer", "eager");
    static const struct {
        const char *variant;
        bool is_tuned;
    } CASES[] = {{"compile", true}, {"eager", false}, {"mine+compile", true}, {"mine", false}};
    case_t spec = case_of(*state, "f32");
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        free(spec.variant);
        spec.variant = mem_text(CASES[i].variant);
        assert_int_equal(open_request_is_tuned(hello, &spec), CASES[i].is_tuned);
    }
    case_free(&spec);
    json_decref(hello);
}

#define GROUP_SET_UP add
#define GROUP_TEAR_DOWN NULL
#include "run_tests.h"
