/* mlp_train: its row, what trainings start from, and its CPU sessions against
 * tests/fixtures/mlp_known.json, which NumPy made. All on the synthetic set. */
#include "checks.h"
#include "engine/session.h"
#include "io/npy.h"
#include "made_case.h"
#include "mnist_training.h"
#include "workloads/common/workload.h"
#include "workloads/mlp_train/data.h"

#include <jansson.h>

static json_t *fixture;

static int open_with_fixture(void **state) {
    fixture = read_json("tests/fixtures/mlp_known.json");
    return open_all(state);
}

static int close_with_fixture(void **state) {
    json_decref(fixture);
    return close_all(state);
}

typedef struct mlp {
    int64_t width, depth, batch, epochs;
    double rate;
    int64_t seed;
} mlp_t;

static const mlp_t TINY = {8, 3, 20000, 2, 0.1, 1};

static case_t mlp_case(const char *variant, const mlp_t *mlp, const char *dtype) {
    const struct {
        const char *name;
        int64_t value;
    } INTS[] = {{"width", mlp->width},
                {"depth", mlp->depth},
                {"batch", mlp->batch},
                {"epochs", mlp->epochs},
                {"seed", mlp->seed}};
    case_t spec = {
        .engine = mem_text("cpu"), .variant = mem_text(variant), .dtype = mem_text(dtype)};
    for (size_t i = 0; i < COUNT_OF(INTS); i++)
        add_integer(&spec, INTS[i].name, INTS[i].value);
    case_add_param(&spec, "rate", &(value_t){.kind = VALUE_REAL, .real = mlp->rate});
    workload_complete(workload_find("mlp_train"), &spec);
    return spec;
}

/* ---- the row --------------------------------------------------------------------------------- */

static void test_ranges(void **state) {
    const struct {
        mlp_t mlp;
        const char *key; /* NULL: good */
    } CASES[] = {{{784, 4, 64, 3, 0.1, 1}, NULL},       {{1, 2, 1, 1, 1e-9, 1}, NULL},
                 {{8192, 16, 60000, 1000, 1, 1}, NULL}, {{0, 4, 64, 3, 0.1, 1}, "width"},
                 {{8193, 4, 64, 3, 0.1, 1}, "width"},   {{784, 1, 64, 3, 0.1, 1}, "depth"},
                 {{784, 17, 64, 3, 0.1, 1}, "depth"},   {{784, 4, 0, 3, 0.1, 1}, "batch"},
                 {{784, 4, 60001, 3, 0.1, 1}, "batch"}, {{784, 4, 64, 0, 0.1, 1}, "epochs"},
                 {{784, 4, 64, 3, 0, 1}, "rate"},       {{784, 4, 64, 3, 0.1, 0}, "seed"}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        case_t spec = mlp_case("ref", &CASES[i].mlp, "f32");
        error_t err = ERROR_INIT;
        const status_t status = workload_check(workload_find("mlp_train"), &spec, &err);
        assert_int_equal(status, CASES[i].key == NULL ? STATUS_OK : STATUS_FAILED);
        if (CASES[i].key != NULL) {
            assert_text(mem_format("\"params.%s\" is out of range", CASES[i].key), err.text);
        }
        case_free(&spec);
    }
}

static void test_cost_and_constants(void **state) {
    const workload_t *workload = workload_find("mlp_train");
    case_t spec = workload_defaults(workload);
    const double elements = 3 * 784 * 784 + 7840;
    workload_cost_t cost = workload->cost(&spec);
    assert_near(cost.bytes, 938 * 3 * 4 * elements, 0);
    /* No gradient by the images: of the first layer's three products one is not needed. */
    assert_near(cost.flops, 60000 * (6 * elements - 2 * 784 * 784), 0);
    assert_near(cost.working_set_bytes, 4 * elements, 0);
    assert_near(workload->tolerance(&spec), 1e-4, 0);
    check_constants("mlp_train", &spec, "WIDTH=784 DEPTH=4 BATCH=64 DTYPE_TF32=0");
    case_free(&spec);
    spec = mlp_case("ref", &TINY, "tf32");
    assert_near(workload->tolerance(&spec), 5e-2, 0);
    check_constants("mlp_train", &spec, "WIDTH=8 DEPTH=3 BATCH=20000 DTYPE_TF32=1");
    case_free(&spec);
}

/* ---- shape and data -------------------------------------------------------------------------- */

static mlpt_shape_t shape_of(const mlp_t *mlp) {
    case_t spec = mlp_case("ref", mlp, "f32");
    const mlpt_shape_t shape = mlpt_shape(&spec);
    case_free(&spec);
    return shape;
}

static void test_last_step_has_the_rest(void **state) {
    const mlpt_shape_t by_default = shape_of(&(mlp_t){784, 4, 64, 3, 0.1, 1});
    assert_int_equal(by_default.steps, 938);
    assert_int_equal(mlpt_rows(&by_default, 936), 64);
    assert_int_equal(mlpt_rows(&by_default, 937), 32);
    const mlpt_shape_t even = shape_of(&(mlp_t){784, 4, 60, 3, 0.1, 1});
    assert_int_equal(even.steps, 1000);
    assert_int_equal(mlpt_rows(&even, 999), 60);
    const mlpt_shape_t all = shape_of(&(mlp_t){784, 4, 60000, 3, 0.1, 1});
    assert_int_equal(all.steps, 1);
    assert_int_equal(mlpt_rows(&all, 0), 60000);
}

static void test_numbers_of_checked_steps(void **state) {
    const struct {
        mlp_t mlp;
        size_t n;
    } CASES[] = {{{784, 4, 64, 3, 0.1, 1}, 28},   /* 2e10 / (6 * 64 * 1851808) = 28.1 */
                 {{256, 4, 64, 3, 0.1, 1}, 50},   /* 155: at most 50 */
                 {{8192, 4, 64, 3, 0.1, 1}, 2},   /* at least 2 … */
                 {{784, 4, 60000, 1, 0.1, 1}, 1}, /* … of those that there are */
                 {{16, 2, 20000, 2, 0.1, 1}, 6}}; /* in both epochs */
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        const mlpt_shape_t shape = shape_of(&CASES[i].mlp);
        assert_int_equal(mlpt_checked_steps(&shape), CASES[i].n);
    }
}

static const mnist_data_t *take(const mlp_t *mlp) {
    const mnist_data_t *data;
    case_t spec = mlp_case("ref", mlp, "f32");
    assert_ok(mlpt_data_take(&spec, &data, &err));
    case_free(&spec);
    return data;
}

static void test_data_is_shared(void **state) {
    const mnist_data_t *data = take(&TINY);
    const mnist_data_t *same = take(&(mlp_t){8, 3, 64, 5, 0.5, 1}); /* those are not part of it */
    assert_ptr_equal(same, data);
    const mlp_t OTHERS[] = {{9, 3, 64, 1, 0.1, 1}, {8, 4, 64, 1, 0.1, 1}, {8, 3, 64, 1, 0.1, 2}};
    for (size_t i = 0; i < COUNT_OF(OTHERS); i++) {
        const mnist_data_t *other = take(&OTHERS[i]);
        assert_ptr_not_equal(other, data);
        assert_ptr_equal(other->images, world.kept->images);
        mnist_data_release(other);
    }
    mnist_data_release(same);
    mnist_data_release(data);
}

/* The data of four layers is that of mnist_known.json (test_mnist_oracle). */
static void test_start_is_known(void **state) {
    const mnist_data_t *data = take(&(mlp_t){8, 4, 4, 1, 0.1, 1});
    assert_int_equal(data->n_weights, world.kept->n_weights);
    assert_memory_equal(data->weights, world.kept->weights, data->n_weights * sizeof(float));
    assert_memory_equal(data->order, world.kept->order, MNIST_IMAGES * sizeof(uint32_t));
    assert_memory_equal(data->x, world.kept->x, sizeof data->x);
    mnist_data_release(data);
}

/* ---- sessions on the CPU --------------------------------------------------------------------- */

static void open_session(session_t *session, const char *variant, const mlp_t *mlp) {
    open_case(session, &mlp_train_cpu, mlp_case(variant, mlp, "f32"));
}

static double item(const json_t *object, const char *key, size_t i) {
    return json_number_value(json_array_get(json_object_get(object, key), i));
}

static npy_t read_array(const char *name) {
    npy_t array;
    char *path = mem_format("%s/%s.npy", world.folder, name);
    assert_ok(npy_read(path, &array, &err));
    free(path);
    return array;
}

static void check_gradient(const json_t *known, size_t l, double tolerance) {
    char *name = mem_format("gradient_%zu", l);
    npy_t gradient = read_array(name);
    const json_t *corners = json_array_get(json_object_get(known, "gradient_corners"), l);
    double squares = 0;
    for (size_t i = 0; i < gradient.n; i++)
        squares += gradient.values[i] * gradient.values[i];
    const double norm = item(known, "gradient_norms", l);
    assert_near(sqrt(squares), norm, tolerance * norm);
    for (size_t i = 0; i < 2; i++)
        assert_near(gradient.values[i == 0 ? 0 : gradient.n - 1],
                    json_number_value(json_array_get(corners, i)), tolerance * norm);
    npy_free(&gradient);
    free(name);
}

/* Where the training ends with the steps that are known, its results are known, too. */
static void check_training(const json_t *known, const char *variant, double tolerance) {
    const int64_t batch = json_integer_value(json_object_get(known, "batch"));
    const int64_t images = batch * json_integer_value(json_object_get(known, "steps"));
    const mlp_t mlp = {json_integer_value(json_object_get(known, "width")),
                       json_integer_value(json_object_get(known, "depth")),
                       batch,
                       images > MNIST_IMAGES ? 2 : 1,
                       json_number_value(json_object_get(known, "rate")),
                       1};
    session_t session;
    text_list_t names = {0};
    open_session(&session, variant, &mlp);
    assert_ok(session.ops->output(&session, world.folder, &names, &err));
    assert_int_equal(names.n, (size_t)mlp.depth + 1);
    text_list_free(&names);
    for (size_t l = 0; l < (size_t)mlp.depth; l++)
        check_gradient(known, l, tolerance);
    npy_t losses = read_array("losses");
    const size_t n = json_array_size(json_object_get(known, "losses"));
    assert_true(losses.n >= n);
    for (size_t i = 0; i < n; i++)
        assert_near(losses.values[i], item(known, "losses", i), 3 * tolerance);
    if (losses.n == n) {
        json_t *results = json_loads(session.results_json, JSON_REJECT_DUPLICATES, NULL);
        const json_t *last = json_array_get(json_object_get(results, "epochs"), 1);
        assert_int_equal(json_integer_value(json_object_get(last, "epoch")), 2);
        assert_near(json_number_value(json_object_get(last, "validation_loss")),
                    json_number_value(json_object_get(known, "validation_loss")), 3 * tolerance);
        assert_near(json_number_value(json_object_get(results, "accuracy")),
                    json_number_value(json_object_get(known, "accuracy")), 2e-4);
        json_decref(results);
    }
    npy_free(&losses);
    close_session(&session);
}

static void test_known_trainings(void **state) {
    size_t i;
    json_t *known;
    assert_int_equal(json_array_size(json_object_get(fixture, "trainings")), 3);
    json_array_foreach(json_object_get(fixture, "trainings"), i, known) {
        check_training(known, "ref", 1e-6);
        check_training(known, "omp", 1e-5);
    }
}

static void test_what_is_not_run(void **state) {
    const struct {
        mlp_t mlp;
        const char *dtype, *told;
    } CASES[] = {{{513, 4, 64, 1, 0.1, 1}, "f32", "width 513: omp supports at most 512"},
                 {{8, 4, 64, 1, 0.1, 1}, "tf32", "dtype tf32: only f32 is written for omp"},
                 {{512, 16, 64, 1, 0.1, 1}, "f32", "too slow for omp: "}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        session_t session = {.ops = &mlp_train_cpu,
                             .spec = mlp_case("omp", &CASES[i].mlp, CASES[i].dtype)};
        const open_request_t request = {.spec = &session.spec};
        error_t err = ERROR_INIT;
        assert_int_equal(session.ops->open(&session, &request, &err), STATUS_FAILED);
        assert_true(session.skipped);
        assert_has(err.text, CASES[i].told);
        case_free(&session.spec);
    }
}

#define GROUP_SET_UP open_with_fixture
#define GROUP_TEAR_DOWN close_with_fixture
#include "run_tests.h"
