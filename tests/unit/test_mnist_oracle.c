/* mnist_train on the CPU: what trainings start from and how they go, against
 * tests/fixtures/mnist_known.json, which the PyTorch side is tested against too; the oracle's
 * gradients against central differences. All on the synthetic set. */
#include "base/half.h"
#include "checks.h"
#include "made_case.h"
#include "mnist_training.h"
#include "workloads/mnist/oracle.h"

#include <jansson.h>

static json_t *fixture;

static int open_with_fixture(void **state) {
    fixture = read_json("tests/fixtures/mnist_known.json");
    return open_all(state);
}

static int close_with_fixture(void **state) {
    json_decref(fixture);
    return close_all(state);
}

/* ---- data ------------------------------------------------------------------------------------ */

static void test_order_is_known(void **state) {
    size_t i, k;
    json_t *known, *number;
    const mnist_data_t *data = data_of(&(training_t){8, 4000, 30, 0.003, "f16"});
    assert_int_equal(json_array_size(json_object_get(fixture, "orders")), 2);
    json_array_foreach(json_object_get(fixture, "orders"), i, known) {
        const uint32_t *order = data->order + i * MNIST_IMAGES;
        assert_int_equal(json_integer_value(json_object_get(known, "epoch")), i);
        json_array_foreach(json_object_get(known, "first"), k, number)
            assert_int_equal(order[k], json_integer_value(number));
        json_array_foreach(json_object_get(known, "last"), k, number)
            assert_int_equal(order[MNIST_IMAGES - 8 + k], json_integer_value(number));
        bool *seen = mem_zeroed(MNIST_IMAGES, sizeof *seen);
        for (size_t at = 0; at < MNIST_IMAGES; at++) {
            assert_false(seen[order[at]]);
            seen[order[at]] = true;
        }
        free(seen);
    }
    mnist_data_release(data);
}

static void check_bits(const json_t *known, bool f16, const float *values) {
    const json_t *list = json_object_get(known, f16 ? "f16" : "f32");
    assert_int_equal(json_array_size(list), 4);
    for (size_t i = 0; i < 4; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        char *found =
            f16 ? mem_format("%04x", half_from_float(values[i])) : mem_format("%08x", bits);
        assert_string_equal(found, json_string_value(json_array_get(list, i)));
        if (f16)
            assert_true(half_to_float(half_from_float(values[i])) == values[i]);
        free(found);
    }
}

static void test_weights_are_known(void **state) {
    for (int f16 = 0; f16 <= 1; f16++) {
        size_t l;
        json_t *known;
        const mnist_data_t *data = data_of(&(training_t){128, 32, 5, 0.003, f16 ? "f16" : "f32"});
        json_array_foreach(json_object_get(fixture, "weights"), l, known) {
            check_bits(json_object_get(known, "w"), f16, data->w[l]);
            check_bits(json_object_get(known, "b"), f16, data->b[l]);
        }
        assert_true(data->x[0] == 0 && data->x[255] == 1);
        assert_true(data->x[100] ==
                    (f16 ? half_to_float(half_from_float(100.0f / 255.0f)) : 100.0f / 255.0f));
        mnist_data_release(data);
    }
}

static void test_data_is_shared(void **state) {
    const mnist_data_t *again = data_of(&(training_t){8, 4, 3, 0.9, "f32"});
    assert_ptr_equal(again, world.kept); /* the rate is not part of it */
    const training_t OTHERS[] = {{9, 4, 3, 0.003, "f32"},
                                 {8, 5, 3, 0.003, "f32"},
                                 {8, 4, 4, 0.003, "f32"},
                                 {8, 4, 3, 0.003, "f16"},
                                 {8, 4, 3, 0.003, "mixed"}};
    for (size_t i = 0; i < COUNT_OF(OTHERS); i++) {
        const mnist_data_t *other = data_of(&OTHERS[i]);
        assert_ptr_not_equal(other, world.kept);
        assert_ptr_equal(other->images, world.kept->images);
        mnist_data_release(other);
    }
    mnist_data_release(again);
    assert_true(world.kept->images->synthetic);
}

static void test_room_is_told(void **state) {
    case_t spec = make_case("ref", &SMALL);
    assert_ok(mnist_data_room(&spec, 0, &err));
    assert_fails_with(mnist_data_room(&spec, 1e18, &err), STATUS_FAILED, "of host memory");
    case_free(&spec);
}

static void test_numbers_of_steps(void **state) {
    assert_near(mnist_matrix_elements(128), 784 * 128 + 2 * 128 * 128 + 1280, 0);
    assert_int_equal(mnist_sample_steps(5000), 200);
    assert_int_equal(mnist_sample_steps(7), 7);
    assert_int_equal(mnist_checked_steps(128, 5000), 200);
    assert_int_equal(mnist_checked_steps(128, 30), 30);
    assert_int_equal(mnist_checked_steps(512, 5000), 111);
    assert_int_equal(mnist_checked_steps(8192, 5000), 2);
    assert_int_equal(mnist_checked_steps(8192, 1), 1);
    assert_int_equal(mnist_descent_steps(128, 5000), 10);
    assert_int_equal(mnist_descent_steps(128, 7), 7);
    assert_int_equal(mnist_descent_steps(8192, 5000), 2);
}

/* ---- the oracle ------------------------------------------------------------------------------ */

static float **new_gradients(const mnist_data_t *data) {
    float **gradients = mem_zeroed(MNIST_LAYERS, sizeof *gradients);
    for (size_t l = 0; l < MNIST_LAYERS; l++)
        gradients[l] = mem_zeroed((data->sizes[l] + 1) * data->sizes[l + 1], sizeof *gradients[l]);
    return gradients;
}

static void free_gradients(float **gradients) {
    for (size_t l = 0; l < MNIST_LAYERS; l++)
        free(gradients[l]);
    free(gradients);
}

static double item(const json_t *object, const char *key, size_t i) {
    return json_number_value(json_array_get(json_object_get(object, key), i));
}

static void check_gradient(const json_t *known, size_t l, const float *gradient, size_t n) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += gradient[i];
        squares += (double)gradient[i] * gradient[i];
    }
    const double norm = item(known, "gradient_norms", l);
    const json_t *told = json_array_get(json_object_get(known, "gradient_first_last_sum"), l);
    assert_near(sqrt(squares), norm, 1e-6 * norm);
    assert_near(gradient[0], json_number_value(json_array_get(told, 0)), 1e-7 * norm);
    assert_near(gradient[n - 1], json_number_value(json_array_get(told, 1)), 1e-7 * norm);
    assert_near(sum, json_number_value(json_array_get(told, 2)), 1e-5 * norm);
}

/* cmocka compares float32. */
static void check_near(double found, double right, double by) {
    if (!(fabs(found - right) <= by))
        fail_msg("%.17g, expected %.17g", found, right);
}

static void check_descent(const json_t *known, mnist_net_t *net, const mnist_descent_t *descent) {
    const size_t steps = json_array_size(json_object_get(known, descent->name));
    double first = NAN;
    assert_int_equal(steps, mnist_descent_steps(net->data->hidden, net->data->steps));
    mnist_net_start(net);
    for (size_t step = 0; step < steps; step++) {
        const double loss = mnist_net_step(net, 0, descent->rate, NULL);
        first = step == 0 ? loss : first;
        check_near(first - loss, item(known, descent->name, step), 1e-12);
    }
}

static void test_ref_is_the_known_training(void **state) {
    size_t i;
    json_t *known;
    json_array_foreach(json_object_get(fixture, "trainings"), i, known) {
        const training_t training = {json_integer_value(json_object_get(known, "hidden")),
                                     json_integer_value(json_object_get(known, "batch")),
                                     json_integer_value(json_object_get(known, "steps")),
                                     json_number_value(json_object_get(known, "rate")),
                                     json_string_value(json_object_get(known, "dtype"))};
        const mnist_data_t *data = data_of(&training);
        float **gradients = new_gradients(data);
        mnist_net_t *net = mnist_net_new(data);
        mnist_net_start(net);
        for (size_t step = 0; step < data->steps; step++) {
            double loss = mnist_net_step(net, step, training.rate, step == 0 ? gradients : NULL);
            check_near(loss, item(known, "losses", step), 1e-12);
        }
        for (size_t l = 0; l < MNIST_LAYERS; l++)
            check_gradient(known, l, gradients[l], (data->sizes[l] + 1) * data->sizes[l + 1]);
        size_t n;
        const mnist_descent_t *descents = mnist_descents(data, &n);
        for (size_t d = 0; d < n; d++)
            check_descent(known, net, &descents[d]);
        mnist_net_free(net);
        free_gradients(gradients);
        mnist_data_release(data);
    }
}

/* The loss of the first batch with one weight moved. With a rate of 0 a step changes nothing. */
static double moved_loss(mnist_net_t *net, double *weight, double by) {
    const double before = *weight;
    *weight = before + by;
    const double loss = mnist_net_step(net, 0, 0, NULL);
    *weight = before;
    return loss;
}

/* Every weight and bias of the last three layers, and every 37th of the first. */
static void test_gradients_are_central_differences(void **state) {
    const double by = 1e-5;
    float **gradients = new_gradients(world.kept);
    mnist_net_t *net = mnist_net_new(world.kept);
    mnist_net_start(net);
    mnist_net_step(net, 0, 0, gradients);
    size_t n_large = 0;
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        const size_t n_in = world.kept->sizes[l], n_out = world.kept->sizes[l + 1];
        for (size_t i = 0; i < n_out * (n_in + 1); i += l == 0 ? 37 : 1) {
            const size_t row = i / (n_in + 1), column = i % (n_in + 1);
            double *weight =
                column < n_in ? &net->w[l][row * net->row[l] + column] : &net->b[l][row];
            double slope = (moved_loss(net, weight, by) - moved_loss(net, weight, -by)) / (2 * by);
            assert_near(gradients[l][i], slope, 1e-8 + fabs(slope) * 0x1p-24); /* kept in float */
            n_large += fabs(slope) > 1e-5;
        }
    }
    assert_true(n_large > 150); /* not all of them are nothing */
    mnist_net_free(net);
    free_gradients(gradients);
}

static void test_step_goes_down_the_gradient(void **state) {
    float **gradients = new_gradients(world.kept);
    mnist_net_t *net = mnist_net_new(world.kept);
    mnist_net_start(net);
    const double before = mnist_net_step(net, 0, 0.25, gradients);
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        const size_t n_in = world.kept->sizes[l];
        for (size_t row = 0; row < world.kept->sizes[l + 1]; row++) {
            const float *g = gradients[l] + row * (n_in + 1);
            assert_near(net->b[l][row], world.kept->b[l][row] - 0.25 * g[n_in], 1e-8);
            for (size_t k = 0; k < n_in; k++)
                assert_near(net->w[l][row * net->row[l] + k],
                            world.kept->w[l][row * n_in + k] - 0.25 * g[k], 1e-8);
        }
    }
    assert_true(mnist_net_step(net, 0, 0, NULL) < before);
    mnist_net_free(net);
    free_gradients(gradients);
}

/* ---- the descriptor -------------------------------------------------------------------------- */

static void test_cost_and_constants(void **state) {
    const workload_t *workload = workload_find("mnist_train");
    case_t spec = workload_defaults(workload);
    const double elements = 784 * 128 + 2 * 128 * 128 + 1280;
    workload_cost_t cost = workload->cost(&spec);
    assert_near(cost.bytes, 200 * 3 * 2 * elements, 0);
    assert_near(cost.flops, 200.0 * 32 * (6 * elements - 2 * 784 * 128), 0);
    assert_near(cost.working_set_bytes, 2 * elements, 0);
    assert_near(cost.device_bytes, 2 * elements + 60000 * (2 * 784 + 1) + 4 * 32 * 5000, 0);
    case_free(&spec);
    spec = (case_t){.engine = mem_text("cuda"), .variant = mem_text("01_library")};
    case_add_technique(&spec, "accumulate", "f16");
    workload_complete(workload, &spec);
    check_constants("mnist_train", &spec,
                    "HIDDEN=128 BATCH=32 DTYPE_F16=1 DTYPE_MIXED=0 ACCUMULATE_F16=1");
    case_free(&spec);
    spec = make_case("omp", &(training_t){128, 32, 10, 0.003, "f32"});
    assert_near(workload->cost(&spec).bytes, 10 * 3 * 4 * elements, 0);
    check_constants("mnist_train", &spec,
                    "HIDDEN=128 BATCH=32 DTYPE_F16=0 DTYPE_MIXED=0 ACCUMULATE_F16=0");
    case_free(&spec);
    spec = make_case("ref", &(training_t){128, 32, 10, 0.003, "mixed"});
    cost = workload->cost(&spec);
    assert_near(cost.bytes, 10 * (2 + 4 + 4) * elements, 0);
    assert_near(cost.working_set_bytes, 4 * elements, 0);
    assert_near(cost.device_bytes, 4 * elements + 60000 * (2 * 784 + 1) + 4 * 32 * 10, 0);
    assert_string_equal(workload->arithmetic(&spec), "f16");
    check_constants("mnist_train", &spec,
                    "HIDDEN=128 BATCH=32 DTYPE_F16=0 DTYPE_MIXED=1 ACCUMULATE_F16=0");
    case_free(&spec);
}

static void test_batch_divides_the_images(void **state) {
    const workload_t *workload = workload_find("mnist_train");
    static const int64_t GOOD[] = {1, 2, 32, 96, 3750, 4000}, BAD[] = {7, 64, 128, 4096};
    for (size_t i = 0; i < COUNT_OF(GOOD); i++) {
        case_t spec = make_case("ref", &(training_t){8, GOOD[i], 1, 0.1, "f32"});
        assert_ok(workload_check(workload, &spec, &err));
        case_free(&spec);
    }
    for (size_t i = 0; i < COUNT_OF(BAD); i++) {
        case_t spec = make_case("ref", &(training_t){8, BAD[i], 1, 0.1, "f32"});
        char *told =
            mem_format("batch %lld does not divide the 60000 training images", (long long)BAD[i]);
        assert_fails(workload_check(workload, &spec, &err), STATUS_USAGE, told);
        free(told);
        case_free(&spec);
    }
}

/* ---- The oracle's products of matrices against sums written out, at sizes that are no multiple
 * of a tile's or of a block's. */

/* Small integers: every order of adding them up is exact. */
static double *new_matrix(size_t n, unsigned seed) {
    double *matrix = mem_alloc(n * sizeof *matrix);
    for (size_t i = 0; i < n; i++)
        matrix[i] = (double)((i * 2654435761u + seed) % 17) - 8;
    return matrix;
}

static void check(size_t rows, size_t columns, size_t n, bool transposed) {
    const size_t left_row = transposed ? 1 : n + 3, left_step = transposed ? rows + 2 : 1;
    const size_t right_row = columns + 5, sums_row = columns + 1;
    double *left = new_matrix(transposed ? n * left_step : rows * left_row, 1);
    double *right = new_matrix(n * right_row, 2), *sums = new_matrix(rows * sums_row, 3);
    double *before = mem_alloc(rows * sums_row * sizeof *before);
    memcpy(before, sums, rows * sums_row * sizeof *before);
    mnist_multiply(&(mnist_product_t){.sums = sums,
                                      .sums_row = sums_row,
                                      .left = left,
                                      .left_row = left_row,
                                      .left_step = left_step,
                                      .right = right,
                                      .right_row = right_row,
                                      .rows = rows,
                                      .columns = columns,
                                      .n = n});
    for (size_t j = 0; j < rows; j++)
        for (size_t i = 0; i < sums_row; i++) {
            double sum = before[j * sums_row + i];
            for (size_t k = 0; k < n && i < columns; k++)
                sum += left[j * left_row + k * left_step] * right[k * right_row + i];
            if (sums[j * sums_row + i] != sum)
                fail_msg("%zu x %zu x %zu: sum %zu, %zu is %g, expected %g", rows, columns, n, j, i,
                         sums[j * sums_row + i], sum);
        }
    free(before);
    free(sums);
    free(right);
    free(left);
}

static void test_every_size(void **state) {
    static const size_t ROWS[] = {1, 3, 4, 5, 9}, COLUMNS[] = {1, 7, 8, 9, 128, 140};
    static const size_t TERMS[] = {1, 10, 256, 300};
    for (size_t i = 0; i < 5 * 6 * 4 * 2; i++)
        check(ROWS[i % 5], COLUMNS[i / 5 % 6], TERMS[i / 30 % 4], i / 120);
}

/* A NaN goes where it belongs and nowhere else. */
static void test_not_a_number_spreads_along_its_row(void **state) {
    double left[5 * 3], right[3 * 9], sums[5 * 9] = {0};
    for (size_t i = 0; i < 15; i++)
        left[i] = i == 7 ? NAN : 1; /* row 2 */
    for (size_t i = 0; i < 27; i++)
        right[i] = 1;
    mnist_multiply(&(mnist_product_t){.sums = sums,
                                      .sums_row = 9,
                                      .left = left,
                                      .left_row = 3,
                                      .left_step = 1,
                                      .right = right,
                                      .right_row = 9,
                                      .rows = 5,
                                      .columns = 9,
                                      .n = 3});
    for (size_t i = 0; i < 45; i++)
        assert_true(i / 9 == 2 ? isnan(sums[i]) : sums[i] == 3);
}

#define GROUP_SET_UP open_with_fixture
#define GROUP_TEAR_DOWN close_with_fixture
#include "run_tests.h"
