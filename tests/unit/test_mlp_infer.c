/* mlp_infer on the CPU through the engine's own table: `omp` against the oracle on odd shapes, and
 * the oracle against sums worked out here from the same data. */
#include "checks.h"
#include "engine/session.h"
#include "io/fs.h"
#include "io/npy.h"
#include "made_case.h"
#include "temporary_folder.h"
#include "workloads/common/workload.h"
#include "workloads/mlp_infer/data.h"

enum { SEED = 42 };

typedef struct shape {
    int64_t batch;
    int64_t sizes[8]; /* ends with 0 */
} shape_t;

static case_t make_case(const char *variant, const shape_t *shape) {
    case_t spec = {.engine = mem_text("cpu"), .variant = mem_text(variant)};
    add_integer(&spec, "batch", shape->batch);
    value_t layers = {.kind = VALUE_INTS, .ints = (int64_t *)shape->sizes};
    while (layers.n_ints < 8 && shape->sizes[layers.n_ints] != 0)
        layers.n_ints++;
    case_add_param(&spec, "layers", &layers);
    workload_complete(workload_find("mlp_infer"), &spec);
    return spec;
}

static void open_session(session_t *session, const char *variant, const shape_t *shape) {
    open_case(session, &mlp_infer_cpu, make_case(variant, shape));
}

static npy_t output_of(const char *variant, const shape_t *shape) {
    session_t session;
    npy_t y;
    text_list_t arrays = {0};
    open_session(&session, variant, shape);
    char *folder = temporary_folder();
    assert_ok(session.ops->output(&session, folder, &arrays, &err));
    assert_int_equal(arrays.n, 1);
    assert_string_equal(arrays.items[0], "y");
    char *path = fs_join(folder, "y.npy");
    assert_ok(npy_read(path, &y, &err));
    free(path);
    fs_remove_temporary(&folder);
    text_list_free(&arrays);
    close_session(&session);
    return y;
}

/* Batches around the tile of 64 samples and around where threads start; layers of one, of primes,
 * narrow after wide. */
static const shape_t SHAPES[] = {
    {1, {4, 5, 1}},     {2, {4, 5, 1}},         {63, {4, 5, 1}},
    {64, {4, 5, 1}},    {65, {4, 5, 1}},        {1023, {4, 5, 1}},
    {1025, {4, 5, 1}},  {4099, {4, 5, 1}},      {1, {1, 1}},
    {7, {1, 1}},        {130, {3, 2}},          {65, {1, 97, 1}},
    {31, {97, 1, 97}},  {100, {7, 13, 3, 2}},   {17, {2, 3, 2, 3, 2, 3, 2, 3}},
    {3, {200, 300, 5}}, {1030, {5, 64, 65, 3}},
};

static void test_omp_is_the_oracle(void **state) {
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        npy_t right = output_of("ref", &SHAPES[i]), found = output_of("omp", &SHAPES[i]);
        double difference = 0, norm = 0;
        assert_int_equal(right.n_dimensions, 2);
        assert_int_equal(right.shape[0], SHAPES[i].batch);
        assert_int_equal(found.n_dimensions, 2);
        assert_memory_equal(found.shape, right.shape, 2 * sizeof *right.shape);
        assert_string_equal(right.type, "f8");
        assert_string_equal(found.type, "f4");
        for (size_t k = 0; k < right.n; k++) {
            difference += pow(found.values[k] - right.values[k], 2);
            norm += pow(right.values[k], 2);
        }
        assert_true(norm > 0);
        if (!(sqrt(difference / norm) < 1e-6)) /* NaN fails */
            fail_msg("shape %zu: relative L2 error %g", i, sqrt(difference / norm));
        npy_free(&right);
        npy_free(&found);
    }
}

/* 2-1-1 on two samples, term by term. */
static void test_known_answer(void **state) {
    const shape_t shape = {2, {2, 1, 1}};
    case_t spec = make_case("ref", &shape);
    const mlp_data_t *d = mlp_data_take(&spec, SEED);
    npy_t y = output_of("ref", &shape);
    for (size_t i = 0; i < 2; i++) {
        double hidden = (double)d->b[0][0] + (double)d->w[0][0] * d->x[2 * i] +
                        (double)d->w[0][1] * d->x[2 * i + 1];
        hidden = hidden > 0 ? hidden : 0;
        double expected = (double)d->b[1][0] + (double)d->w[1][0] * hidden;
        assert_true(fabs(y.values[i] - expected) < 1e-15);
    }
    npy_free(&y);
    mlp_data_release(d);
    case_free(&spec);
}

/* The last layer has no activation, the hidden ones have. */
static void test_relu_between_layers_only(void **state) {
    const shape_t flat = {500, {3, 2}};
    npy_t y = output_of("ref", &flat);
    size_t n_negative = 0;
    for (size_t i = 0; i < y.n; i++)
        n_negative += y.values[i] < 0;
    assert_in_range(n_negative, 1, y.n - 1);
    npy_free(&y);
    /* One hidden unit: where it is off, the output is the bias and nothing else. */
    const shape_t one = {500, {3, 1, 1}};
    case_t spec = make_case("ref", &one);
    const mlp_data_t *d = mlp_data_take(&spec, SEED);
    y = output_of("ref", &one);
    size_t n_off = 0;
    for (size_t i = 0; i < y.n; i++)
        n_off += y.values[i] == (double)d->b[1][0];
    assert_in_range(n_off, 1, y.n - 1);
    npy_free(&y);
    mlp_data_release(d);
    case_free(&spec);
}

static void test_data_is_shared_and_in_range(void **state) {
    const shape_t shape = {100, {4, 5, 1}};
    case_t spec = make_case("ref", &shape);
    const mlp_data_t *first = mlp_data_take(&spec, SEED), *second = mlp_data_take(&spec, SEED),
                     *other = mlp_data_take(&spec, SEED + 1);
    assert_ptr_equal(first, second);
    assert_ptr_not_equal(first, other);
    assert_memory_not_equal(first->x, other->x, 400 * sizeof *first->x);
    assert_int_equal(first->n_weights, 31);
    for (size_t i = 0; i < 400; i++)
        assert_true(fabs((double)first->x[i]) <= 1);
    for (size_t i = 0; i < 20; i++)
        assert_true(fabs((double)first->w[0][i]) <= 0.5);
    mlp_data_release(first);
    first = mlp_data_take(&spec, SEED); /* one user had been left */
    assert_ptr_equal(first, second);
    mlp_data_release(first);
    mlp_data_release(second);
    mlp_data_release(other);
    case_free(&spec);
}

static void test_unknown_variant(void **state) {
    session_t session = {.spec = make_case("avx", &SHAPES[0])};
    const open_request_t request = {.spec = &session.spec, .seed = SEED};
    error_t err = ERROR_INIT;
    assert_int_equal(mlp_infer_cpu.open(&session, &request, &err), STATUS_FAILED);
    assert_string_equal(err.text, "no variant \"avx\" (known: ref, omp)");
    case_free(&session.spec);
}

/* f32 under the name of f16 would pass the wider tolerance. */
static void test_other_dtypes_are_skipped(void **state) {
    for (int is_ref = 0; is_ref < 2; is_ref++) {
        session_t session = {.ops = &mlp_infer_cpu,
                             .spec = make_case(is_ref ? "ref" : "omp", &SHAPES[0])};
        const open_request_t request = {.spec = &session.spec, .seed = SEED};
        error_t err = ERROR_INIT;
        set_text(&session.spec.dtype, "f16");
        status_t status = mlp_infer_cpu.open(&session, &request, &err);
        assert_int_equal(session.skipped, !is_ref);
        if (is_ref) {
            assert_int_equal(status, STATUS_OK);
            close_session(&session);
        } else {
            assert_string_equal(err.text, "dtype f16: only f32 is written for omp");
            case_free(&session.spec);
        }
    }
}

/* Every declared phase gets its sample, and the sum is the total. */
static void test_probes_fill_every_phase(void **state) {
    session_t session;
    open_session(&session, "omp", &SHAPES[4]);
    for (size_t i = 0; i < session.n_probes; i++)
        assert_ok(session.probes[i].run(&session, &session.recorder, &err));
    const recorder_t *recorder = &session.recorder;
    assert_int_equal(recorder->n_phases, 4);
    for (size_t i = 0; i < recorder->n_phases; i++) {
        assert_int_equal(recorder->phases[i].n, 1);
        assert_true(recorder->phases[i].ns[0] >= 0);
    }
    assert_string_equal(recorder->phases[0].name, "forward");
    assert_string_equal(recorder->phases[2].name, "residual");
    assert_true(recorder->phases[0].ns[0] + recorder->phases[2].ns[0] == recorder->phases[1].ns[0]);
    close_session(&session);
}

#include "run_tests.h"
