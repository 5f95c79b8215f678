#include "checks.h"
#include "io/fs.h"
#include "made_case.h"
#include "temporary_folder.h"
#include "workloads/common/workload.h"
#include "workloads/device/descriptor.h"

static const char ROOT[] = "tests/fixtures/sweep_root";

static const workload_t *mlp_infer(void) {
    const workload_t *workload = workload_find("mlp_infer");
    assert_non_null(workload);
    return workload;
}

/* A case of mlp_infer on the CPU; free it with case_free(). */
static case_t mlp_case(int64_t batch, const char *dtype, const int64_t *sizes, size_t n_sizes) {
    case_t spec = {.engine = mem_text("cpu"), .variant = mem_text("omp"), .dtype = mem_text(dtype)};
    case_add_param(&spec, "batch", &(value_t){.kind = VALUE_INT, .integer = batch});
    if (n_sizes > 0) {
        AUTO(value_free) value_t layers = {.kind = VALUE_INTS, .n_ints = n_sizes};
        layers.ints = mem_zeroed(n_sizes, sizeof *layers.ints);
        memcpy(layers.ints, sizes, n_sizes * sizeof *layers.ints);
        case_add_param(&spec, "layers", &layers);
    }
    workload_complete(mlp_infer(), &spec);
    return spec;
}

static void test_table(void **state) {
    const workload_t *workload;
    for (size_t i = 0; (workload = workload_at(i)) != NULL || i < 3; i++) {
        assert_non_null(workload);
        assert_ptr_equal(workload_find(workload->name), workload);
        assert_true(text_is_name(workload->name));
        assert_true(strlen(workload->summary) > 0);
        assert_non_null(workload->dtypes[0]);
        AUTO(case_free) case_t defaults = workload_defaults(workload);
        assert_int_equal(defaults.n_params, workload->n_params);
        for (size_t p = 0; p < workload->n_params; p++) {
            const param_spec_t *param = &workload->params[p];
            const value_t *value = &defaults.params[p].value;
            assert_string_equal(defaults.params[p].name, param->name);
            assert_int_equal(value->kind, param->kind);
            if (param->kind == VALUE_INT)
                assert_in_range(value->integer, (uintmax_t)param->min, (uintmax_t)param->max);
            if (param->kind == VALUE_INTS)
                assert_in_range(value->n_ints, param->min_items, param->max_items);
        }
        assert_true(workload->tolerance(&defaults) > 0);
        assert_true(workload->cost(&defaults).bytes >= 0);
    }
    assert_null(workload_find("resnet"));
}

/* 4-5-1: 25 + 6 weights; 2·(20 + 5) + 6 operations a sample. */
static void test_cost_of_the_study(void **state) {
    AUTO(case_free) case_t spec = mlp_case(1 << 22, "f32", NULL, 0);
    workload_cost_t cost = mlp_infer()->cost(&spec);
    assert_near(cost.bytes, 20.0 * (1 << 22) + 31 * 4, 0);
    assert_near(cost.flops, 56.0 * (1 << 22), 0);
    assert_near(cost.device_bytes, cost.bytes, 0);
    assert_near(mlp_infer()->tolerance(&spec), 1e-5, 0);
}

static void test_cost_of_another_shape(void **state) {
    const int64_t sizes[] = {8, 16, 4, 2};
    AUTO(case_free) case_t spec = mlp_case(10, "f16", sizes, 4);
    workload_cost_t cost = mlp_infer()->cost(&spec);
    double n_weights = 8 * 16 + 16 + 16 * 4 + 4 + 4 * 2 + 2;
    assert_near(cost.bytes, 10 * (8 + 2) * 2 + n_weights * 2, 0);
    assert_near(cost.flops, 10 * (2 * (8 * 16 + 16 * 4 + 4 * 2) + 16 + 4 + 2), 0);
    assert_near(mlp_infer()->tolerance(&spec), 2e-3, 0);
}

static void test_cost_of_a_copy(void **state) {
    const workload_t *device = workload_find("device");
    AUTO(case_free) case_t spec = workload_defaults(device);
    assert_near(device->cost(&spec).bytes, 1073741824.0, 0); /* a rung reads */
    free(spec.variant);
    spec.variant = mem_text("copy");
    assert_near(device->cost(&spec).bytes, 2.0 * (1 << 30), 0);
    free(spec.variant);
    spec.variant = mem_text("02_barrier"); /* moves nothing that a limit could be made of */
    assert_near(device->cost(&spec).bytes, 0, 0);
}

static void test_constants(void **state) {
    AUTO(case_free) case_t spec = workload_defaults(workload_find("device"));
    char *expected =
        mem_format("BYTES=1073741824 PASSES=%d BARRIERS=%d", DEVICE_READ_PASSES, DEVICE_BARRIERS);
    check_constants("device", &spec, expected);
    free(expected);
}

/* Whatever order and however little is given: the same case, the same id. */
static void test_complete_orders_and_fills_in(void **state) {
    AUTO(case_free) case_t spec = {.engine = mem_text("cuda"), .variant = mem_text("01_study")};
    case_add_technique(&spec, "launch", "graph");
    case_add_technique(&spec, "copy", "pinned");
    value_t layers = {.kind = VALUE_INTS, .ints = (int64_t[]){8, 16, 4}, .n_ints = 3};
    case_add_param(&spec, "layers", &layers);
    workload_complete(mlp_infer(), &spec);
    assert_string_equal(spec.id,
                        "mlp_infer/cuda/01_study/batch=64/layers=8-16-4/copy=pinned/launch=graph");
    assert_string_equal(spec.workload, "mlp_infer");
    assert_string_equal(spec.device, "cuda");
    assert_string_equal(spec.dtype, "f32");
    assert_int_equal(spec.n_params, 2);
    assert_string_equal(spec.params[0].name, "batch");
    const char *const order[] = {"alloc", "copy", "weights", "launch", "wait"};
    const char *const choices[] = {"malloc", "pinned", "upload", "graph", "sync"};
    assert_int_equal(spec.n_techniques, 5);
    for (size_t i = 0; i < spec.n_techniques; i++) {
        assert_string_equal(spec.techniques[i].name, order[i]);
        assert_string_equal(spec.techniques[i].value.text, choices[i]);
    }
    assert_text(workload_group(mlp_infer(), &spec), "mlp_infer/batch=64/layers=8-16-4/f32");
}

static void test_complete_keeps_what_it_does_not_know(void **state) {
    AUTO(case_free) case_t spec = {.engine = mem_text("pytorch"), .variant = mem_text("eager")};
    case_add_param(&spec, "colour", &(value_t){.kind = VALUE_INT, .integer = 3});
    workload_complete(mlp_infer(), &spec);
    assert_string_equal(spec.id, "mlp_infer/pytorch-cuda/eager/batch=64/colour=3");
    assert_int_equal(spec.n_techniques, 0);
}

static void check_variants(const char *workload, const char *engine, const char *expected) {
    AUTO(text_list_free) text_list_t variants = {0};
    assert_ok(workload_variants(workload_find(workload), engine, ROOT, &variants, &err));
    assert_text(text_list_join(&variants, " "), expected);
}

static void test_variants(void **state) {
    check_variants("mlp_infer", "cuda", "01_study 02_thread_per_sample 03_vectorized");
    check_variants("mlp_infer", "cpu", "omp ref");
    check_variants("mlp_infer", "pytorch",
                   "eager inference compile graph compile_graph overlap compile_overlap "
                   "mapped");
    check_variants("mlp_infer", "null", "");
    check_variants("null", "cuda", "");
    check_variants("null", "cpu", "");
    check_variants("null", "null", "noop steady noisy bimodal drifting wrong crash hang");
    check_variants("device", "cuda", "copy bus matmul");
    check_variants("device", "cpu", "copy");
    check_variants("allocate", "cuda", "caching malloc async arena");
    check_variants("allocate", "cpu", "caching arena");
    check_variants("allocate", "pytorch", "caching");
}

static void test_rungs_leave_out_what_is_no_rung(void **state) {
    AUTO_FREE char *root = temporary_folder();
    AUTO_FREE char *folder = mem_format("%s/kernels/w", root);
    assert_ok(fs_make_folders(folder, &err));
    const char *const files[] = {"02_b.cu", "01_a.cu", ".#01_a.cu", "w.cuh", "03 c.cu", "notes"};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        AUTO_FREE char *path = fs_join(folder, files[i]);
        assert_ok(fs_write_atomic(path, "", 0, &err));
    }
    AUTO(text_list_free) text_list_t rungs = {0};
    const workload_t w = {.name = "w"}, absent = {.name = "absent"};
    assert_ok(workload_variants(&w, "cuda", root, &rungs, &err));
    assert_text(text_list_join(&rungs, " "), "01_a 02_b");
    assert_ok(workload_variants(&absent, "cuda", root, &rungs, &err));
    assert_int_equal(rungs.n, 2);
    assert_ok(fs_remove_tree(root, &err));
}

#include "run_tests.h"
