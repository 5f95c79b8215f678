/* Networks on MNIST on the CPU: what trainings start from and how they go, against
 * tests/fixtures/mnist_known.json, which Python is tested against too; the oracle's gradients against
 * central differences, and those of float32 against the oracle's. All on the synthetic set. */
#include "checks.h"
#include "mnist_training.h"
#include "workloads/mnist/oracle.h"

#include <jansson.h>
#include <omp.h>

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
    const mnist_data_t *data = data_of(&(training_t){8, 4000, 30, 0.003});
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

static void check_bits(const json_t *list, const float *values) {
    assert_int_equal(json_array_size(list), 4);
    for (size_t i = 0; i < 4; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        assert_text(mem_format("%08x", bits), json_string_value(json_array_get(list, i)));
    }
}

static void test_weights_are_known(void **state) {
    size_t l;
    json_t *known;
    const mnist_data_t *data = data_of(&(training_t){128, 32, 5, 0.003});
    json_array_foreach(json_object_get(fixture, "weights"), l, known) {
        check_bits(json_object_get(known, "w"), data->w[l]);
        check_bits(json_object_get(known, "b"), data->b[l]);
    }
    assert_true(data->x[0] == 0 && data->x[255] == 1);
    assert_true(data->x[100] == 100.0f / 255.0f);
    mnist_data_release(data);
}

static void test_data_is_shared(void **state) {
    const mnist_data_t *again = data_of(&(training_t){8, 4, 3, 0.9});
    assert_ptr_equal(again, world.kept); /* the rate is not part of it */
    const training_t OTHERS[] = {{9, 4, 3, 0.003}, {8, 5, 3, 0.003}, {8, 4, 4, 0.003}};
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
    const mnist_data_t shape = shape_of_training(&SMALL);
    assert_ok(mnist_shape_room(&shape, 0, &err));
    assert_fails_with(mnist_shape_room(&shape, 1e18, &err), STATUS_FAILED, "of host memory");
}

/* ---- the oracle ------------------------------------------------------------------------------ */

static float **new_gradients(const mnist_data_t *data) {
    float **gradients = mem_zeroed(LAYERS, sizeof *gradients);
    for (size_t l = 0; l < LAYERS; l++)
        gradients[l] = mem_zeroed((data->sizes[l] + 1) * data->sizes[l + 1], sizeof *gradients[l]);
    return gradients;
}

static void free_gradients(float **gradients) {
    for (size_t l = 0; l < LAYERS; l++)
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

static void test_ref_is_the_known_training(void **state) {
    size_t i;
    json_t *known;
    json_array_foreach(json_object_get(fixture, "trainings"), i, known) {
        const training_t training = {(size_t)json_integer_value(json_object_get(known, "hidden")),
                                     (size_t)json_integer_value(json_object_get(known, "batch")),
                                     (size_t)json_integer_value(json_object_get(known, "steps")),
                                     json_number_value(json_object_get(known, "rate"))};
        const mnist_data_t *data = data_of(&training);
        float **gradients = new_gradients(data);
        mnist_net_t *net = mnist_net_new(data);
        mnist_net_start(net);
        for (size_t step = 0; step < data->steps; step++) {
            double loss = mnist_net_step(net, step, training.rate, step == 0 ? gradients : NULL);
            check_near(loss, item(known, "losses", step), 1e-12);
        }
        for (size_t l = 0; l < LAYERS; l++)
            check_gradient(known, l, gradients[l], (data->sizes[l] + 1) * data->sizes[l + 1]);
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
    for (size_t l = 0; l < LAYERS; l++) {
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
    for (size_t l = 0; l < LAYERS; l++) {
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

/* ---- in float32 on all cores, against the oracle ------------------------------------------------ */

typedef struct trained {
    float *gradients[LAYERS];
    double *losses;
} trained_t;

static trained_t train(bool ref, const mnist_data_t *data, double rate) {
    trained_t trained = {.losses = mem_zeroed(data->steps, sizeof(double))};
    for (size_t l = 0; l < LAYERS; l++)
        trained.gradients[l] = mem_zeroed((data->sizes[l] + 1) * data->sizes[l + 1], sizeof(float));
    if (ref) {
        mnist_net_t *net = mnist_net_new(data);
        mnist_net_start(net);
        for (size_t step = 0; step < data->steps; step++)
            trained.losses[step] =
                mnist_net_step(net, step, rate, step == 0 ? trained.gradients : NULL);
        mnist_net_free(net);
    } else {
        mnist_omp_t *net = mnist_omp_new(data);
        mnist_omp_start(net);
        mnist_omp_train(net, data->steps, rate, trained.losses, trained.gradients);
        mnist_omp_free(net);
    }
    return trained;
}

static void free_trained(trained_t *trained) {
    for (size_t l = 0; l < LAYERS; l++)
        free(trained->gradients[l]);
    free(trained->losses);
}

static double relative_l2(const float *found, const float *right, size_t n) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += pow((double)found[i] - right[i], 2);
        norm += pow(right[i], 2);
    }
    return sqrt(difference / norm);
}

static void check_omp(const training_t *training) {
    const mnist_data_t *data = data_of(training);
    trained_t right = train(true, data, training->rate);
    trained_t found = train(false, data, training->rate);
    for (size_t l = 0; l < LAYERS; l++) {
        double error = relative_l2(found.gradients[l], right.gradients[l],
                                   (data->sizes[l] + 1) * data->sizes[l + 1]);
        if (!(error <= 2e-6))
            fail_msg("hidden %zu, batch %zu: gradient %zu is off by %g", data->hidden, data->batch,
                     l, error);
    }
    for (size_t step = 0; step < data->steps; step++)
        assert_near(found.losses[step], right.losses[step], 2e-6);
    free_trained(&found);
    free_trained(&right);
    mnist_data_release(data);
}

/* Sizes that are no multiple of the rows and columns that are taken at once. */
static void test_omp_is_the_oracle(void **state) {
    static const training_t TRAININGS[] = {
        {8, 1, 5, 0.1},    {9, 3, 5, 0.1},    {33, 4, 4, 0.1},
        {31, 6, 4, 0.003}, {130, 32, 3, 0.1}, {512, 5, 2, 0.1},
    };
    for (size_t i = 0; i < COUNT_OF(TRAININGS); i++)
        check_omp(&TRAININGS[i]);
}

/* 160 hidden units are worth three threads to `omp`, where it may have them. */
static void test_results_do_not_depend_on_threads(void **state) {
    const int all = omp_get_max_threads();
    const mnist_data_t *data = data_of(&(training_t){160, 10, 3, 0.1});
    for (int ref = 0; ref <= 1; ref++) {
        omp_set_num_threads(1);
        trained_t first = train(ref, data, 0.1);
        omp_set_num_threads(3);
        trained_t second = train(ref, data, 0.1);
        for (size_t l = 0; l < LAYERS; l++)
            assert_memory_equal(first.gradients[l], second.gradients[l],
                                (data->sizes[l] + 1) * data->sizes[l + 1] * sizeof(float));
        assert_memory_equal(first.losses, second.losses, data->steps * sizeof(double));
        free_trained(&first);
        free_trained(&second);
    }
    omp_set_num_threads(all);
    mnist_data_release(data);
}

static void test_divergence_is_told(void **state) {
    mnist_fit_t fit = mnist_fit_new(12);
    for (size_t i = 0; i < 12; i++)
        fit.losses[i] = i < 7 ? 2.3 : 1e39; /* no finite float32 */
    assert_fails(mnist_fit_check(&fit, &err), STATUS_FAILED, "loss is not finite from step 7 on");
    mnist_fit_free(&fit);
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
