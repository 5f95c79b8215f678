/* Sessions of mnist_train on the CPU: `omp` against the oracle, phases, results, and what is not
 * run. All on the synthetic set. */
#include "checks.h"
#include "engine/session.h"
#include "io/npy.h"
#include "made_case.h"
#include "mnist_training.h"
#include "workloads/common/workload.h"
#include "workloads/mnist/oracle.h"

#include <jansson.h>
#include <omp.h>
#include <unistd.h>

static void open_session(session_t *session, const char *variant, const training_t *training) {
    open_case(session, &mnist_train_cpu, make_case(variant, training));
}

enum { LOSSES = MNIST_LAYERS, DESCENT, N_ARRAYS };

typedef struct written {
    npy_t arrays[N_ARRAYS];
} written_t;

static written_t output_of(const char *variant, const training_t *training) {
    static const char *const NAMES[N_ARRAYS] = {"gradient_0", "gradient_1", "gradient_2",
                                                "gradient_3", "losses",     "descent"};
    session_t session;
    text_list_t names = {0};
    written_t written;
    open_session(&session, variant, training);
    assert_ok(session.ops->output(&session, world.folder, &names, &err));
    assert_int_equal(names.n, N_ARRAYS);
    for (size_t i = 0; i < N_ARRAYS; i++) {
        assert_string_equal(names.items[i], NAMES[i]);
        char *path = mem_format("%s/%s.npy", world.folder, NAMES[i]);
        assert_ok(npy_read(path, &written.arrays[i], &err));
        free(path);
    }
    text_list_free(&names);
    close_session(&session);
    return written;
}

static void free_written(written_t *written) {
    for (size_t i = 0; i < N_ARRAYS; i++)
        npy_free(&written->arrays[i]);
}

static void check_shapes(const char *variant) {
    written_t written = output_of(variant, &(training_t){12, 3, 7, 0.003, "f32"});
    static const size_t ROWS[] = {12, 12, 12, 10}, COLUMNS[] = {785, 13, 13, 13};
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        assert_int_equal(written.arrays[l].n_dimensions, 2);
        assert_int_equal(written.arrays[l].shape[0], ROWS[l]);
        assert_int_equal(written.arrays[l].shape[1], COLUMNS[l]);
        for (size_t i = 0; i < written.arrays[l].n; i++)
            assert_true(isfinite(written.arrays[l].values[i]));
    }
    assert_int_equal(written.arrays[LOSSES].n, 7);
    assert_int_equal(written.arrays[DESCENT].n, 7);
    assert_true(written.arrays[DESCENT].values[0] == 0);
    for (size_t step = 0; step < 7; step++)
        assert_true(isfinite(written.arrays[LOSSES].values[step]));
    for (size_t step = 1; step < 7; step++)
        assert_true(written.arrays[DESCENT].values[step] >
                    written.arrays[DESCENT].values[step - 1]);
    free_written(&written);
}

static void test_output(void **state) {
    check_shapes("ref");
    check_shapes("omp");
}

/* losses.scale.npy over the root mean square of the losses; 0 if there is no such file. */
static double scale_of(const char *variant, const training_t *training) {
    npy_t scale = {0};
    char *path = mem_format("%s/losses.scale.npy", world.folder);
    unlink(path);
    written_t written = output_of(variant, training);
    const npy_t *losses = &written.arrays[LOSSES];
    double squares = 0, found = 0;
    for (size_t i = 0; i < losses->n; i++)
        squares += losses->values[i] * losses->values[i];
    if (access(path, F_OK) == 0) {
        assert_ok(npy_read(path, &scale, &err));
        found = scale.values[0] / sqrt(squares / (double)losses->n);
    }
    npy_free(&scale);
    free(path);
    free_written(&written);
    return found;
}

/* A high rate makes the losses depend on the last bit of the weights. */
static void test_scale_of_losses(void **state) {
    assert_near(scale_of("ref", &(training_t){12, 8, 100, 0.003, "f32"}), 1, 1e-12);
    assert_true(scale_of("ref", &(training_t){12, 8, 100, 0.4, "f32"}) > 2);
    assert_true(scale_of("omp", &(training_t){12, 8, 100, 0.4, "f32"}) == 0);
    assert_true(scale_of("ref", &(training_t){12, 8, 100, 0.003, "f16"}) == 0);
}

/* What both leave in `output` of a session, without the accuracy that opening one computes. */
typedef struct trained {
    float *gradients[MNIST_LAYERS];
    double *losses, *descent;
} trained_t;

static trained_t train(bool ref, const mnist_data_t *data, double rate) {
    size_t n;
    trained_t trained = {.losses = mem_zeroed(data->steps, sizeof(double)),
                         .descent = mem_zeroed(data->steps, sizeof(double))};
    for (size_t l = 0; l < MNIST_LAYERS; l++)
        trained.gradients[l] = mem_zeroed((data->sizes[l] + 1) * data->sizes[l + 1], sizeof(float));
    if (ref) {
        mnist_net_t *net = mnist_net_new(data);
        mnist_net_start(net);
        for (size_t step = 0; step < data->steps; step++)
            trained.losses[step] =
                mnist_net_step(net, step, rate, step == 0 ? trained.gradients : NULL);
        mnist_net_start(net);
        for (size_t step = 0; step < data->steps; step++)
            trained.descent[step] = mnist_net_step(net, 0, mnist_descents(data, &n)->rate, NULL);
        mnist_net_free(net);
    } else {
        mnist_omp_t *net = mnist_omp_new(data);
        mnist_omp_start(net);
        mnist_omp_train(net, data->steps, rate, trained.losses, trained.gradients);
        mnist_omp_start(net);
        mnist_omp_descend(net, data->steps, mnist_descents(data, &n)->rate, trained.descent);
        mnist_omp_free(net);
    }
    return trained;
}

static void free_trained(trained_t *trained) {
    for (size_t l = 0; l < MNIST_LAYERS; l++)
        free(trained->gradients[l]);
    free(trained->losses);
    free(trained->descent);
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
    for (size_t l = 0; l < MNIST_LAYERS; l++) {
        double error = relative_l2(found.gradients[l], right.gradients[l],
                                   (data->sizes[l] + 1) * data->sizes[l + 1]);
        if (!(error <= 2e-6))
            fail_msg("hidden %zu, batch %zu: gradient %zu is off by %g", data->hidden, data->batch,
                     l, error);
    }
    for (size_t step = 0; step < data->steps; step++)
        assert_near(found.losses[step], right.losses[step], 2e-6);
    for (size_t step = 0; step < data->steps; step++)
        assert_near(found.descent[step], right.descent[step], 2e-6);
    free_trained(&found);
    free_trained(&right);
    mnist_data_release(data);
}

/* Sizes that are no multiple of the rows and columns that are taken at once. */
static void test_omp_is_the_oracle(void **state) {
    static const training_t TRAININGS[] = {
        {8, 1, 5, 0.1, "f32"},    {9, 3, 5, 0.1, "f32"},    {33, 4, 4, 0.1, "f32"},
        {31, 6, 4, 0.003, "f32"}, {130, 32, 3, 0.1, "f32"}, {512, 5, 2, 0.1, "f32"},
    };
    for (size_t i = 0; i < COUNT_OF(TRAININGS); i++)
        check_omp(&TRAININGS[i]);
}

/* 160 hidden units are worth three threads to `omp`, where it may have them. */
static void test_results_do_not_depend_on_threads(void **state) {
    const int all = omp_get_max_threads();
    const mnist_data_t *data = data_of(&(training_t){160, 10, 3, 0.1, "f32"});
    for (int ref = 0; ref <= 1; ref++) {
        omp_set_num_threads(1);
        trained_t first = train(ref, data, 0.1);
        omp_set_num_threads(3);
        trained_t second = train(ref, data, 0.1);
        for (size_t l = 0; l < MNIST_LAYERS; l++)
            assert_memory_equal(first.gradients[l], second.gradients[l],
                                (data->sizes[l] + 1) * data->sizes[l + 1] * sizeof(float));
        assert_memory_equal(first.losses, second.losses, data->steps * sizeof(double));
        assert_memory_equal(first.descent, second.descent, data->steps * sizeof(double));
        free_trained(&first);
        free_trained(&second);
    }
    omp_set_num_threads(all);
    mnist_data_release(data);
}

static void check_not_opened(const char *variant, const training_t *training, bool skipped,
                             const char *told) {
    session_t session = {.spec = make_case(variant, training)};
    const open_request_t request = {.spec = &session.spec, .seed = 42};
    error_t err = ERROR_INIT;
    assert_int_equal(mnist_train_cpu.open(&session, &request, &err), STATUS_FAILED);
    assert_int_equal(session.skipped, skipped);
    if (strncmp(err.text, told, strlen(told)) != 0)
        fail_msg("%s", err.text);
    case_free(&session.spec);
}

static void test_what_is_not_run(void **state) {
    check_not_opened("avx", &SMALL, false, "no variant \"avx\" (known: ref, omp)");
    check_not_opened("omp", &(training_t){8, 4, 3, 0.1, "f16"}, true,
                     "dtype f16: only f32 is written for omp");
    check_not_opened("omp", &(training_t){513, 4, 3, 0.1, "f32"}, true,
                     "hidden 513: omp supports at most 512");
}

static void test_divergence_is_told(void **state) {
    check_not_opened("omp", &(training_t){256, 1, 400, 1, "f32"}, false,
                     "loss is not finite from step ");
    mnist_fit_t fit = mnist_fit_new(12);
    for (size_t i = 0; i < 12; i++)
        fit.losses[i] = i < 7 ? 2.3 : 1e39; /* no finite float32 */
    assert_fails(mnist_fit_check(&fit, &err), STATUS_FAILED, "loss is not finite from step 7 on");
    mnist_fit_free(&fit);
}

/* ---- what a session tells -------------------------------------------------------------------- */

static void check_phases(const char *variant) {
    static const char *const PHASES[] = {"train", "step", "total", "residual"};
    session_t session;
    open_session(&session, variant, &(training_t){8, 4, 16, 0.003, "f32"});
    assert_int_equal(session.n_probes, 1);
    assert_ok(session.probes[0].run(&session, &session.recorder, &err));
    const recorder_t *recorder = &session.recorder;
    assert_int_equal(recorder->n_phases, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(recorder->phases[i].name, PHASES[i]);
        assert_int_equal(recorder->phases[i].n, 1);
    }
    const double train_ns = recorder->phases[0].ns[0];
    /* A recorder's digits; not assert_near(), whose floats have fewer. */
    assert_true(fabs(recorder->phases[1].ns[0] - train_ns / 16) < 0.051);
    assert_true(recorder->phases[2].ns[0] == train_ns + recorder->phases[3].ns[0]);
    close_session(&session);
}

static void test_one_run_fills_every_phase(void **state) {
    check_phases("ref");
    check_phases("omp");
}

static json_t *results_of(const char *variant, const training_t *training, const char *once) {
    session_t session;
    open_session(&session, variant, training);
    assert_int_equal(session.n_once, 2);
    assert_string_equal(session.once[0].name, "data");
    assert_string_equal(session.once[1].name, once);
    json_t *results = json_loads(session.results_json, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(results);
    assert_string_equal(json_string_value(json_object_get(results, "dataset")), "synthetic");
    assert_string_equal(json_string_value(json_object_get(results, "accumulate")),
                        strcmp(variant, "ref") == 0 ? "f64" : "f32");
    close_session(&session);
    return results;
}

static void check_steps(const json_t *results, const int *steps, size_t n) {
    const json_t *losses = json_object_get(results, "loss");
    assert_int_equal(json_array_size(losses), n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(json_integer_value(json_array_get(json_array_get(losses, i), 0)),
                         steps[i]);
}

static void test_results(void **state) {
    json_t *results = results_of("omp", &(training_t){16, 20, 215, 0.1, "f32"}, "training");
    const json_t *losses = json_object_get(results, "loss");
    assert_int_equal(json_array_size(losses), 23); /* 0, 10 … 210, and 214 */
    assert_near(json_number_value(json_array_get(json_array_get(losses, 0), 1)), 2.3, 0.2);
    assert_int_equal(json_integer_value(json_array_get(json_array_get(losses, 22), 0)), 214);
    assert_true(json_number_value(json_array_get(json_array_get(losses, 22), 1)) < 0.5);
    assert_true(json_number_value(json_object_get(results, "accuracy")) > 0.9); /* it learns */
    json_decref(results);
    results = results_of("ref", &(training_t){16, 20, 11, 0.1, "f32"}, "training");
    check_steps(results, (const int[]){0, 10}, 2);
    const double accuracy = json_number_value(json_object_get(results, "accuracy"));
    assert_true(accuracy > 0.02 && accuracy < 0.9);
    json_decref(results);
}

/* The oracle stops behind the steps that are checked, and has no accuracy of a whole training. */
static void test_results_of_a_part(void **state) {
    json_t *results = results_of("ref", &(training_t){8, 4, 5000, 0.003, "f32"}, "first_run");
    assert_null(json_object_get(results, "accuracy"));
    const json_t *losses = json_object_get(results, "loss");
    assert_int_equal(json_array_size(losses), 21);
    assert_int_equal(json_integer_value(json_array_get(json_array_get(losses, 20), 0)), 199);
    json_decref(results);
}

static void test_both_find_the_same_accuracy(void **state) {
    const training_t training = {8, 96, 8, 0.1, "f32"}; /* the test images are no whole batches */
    json_t *ref = results_of("ref", &training, "training");
    json_t *omp = results_of("omp", &training, "training");
    const double accuracy = json_number_value(json_object_get(ref, "accuracy"));
    assert_near(json_number_value(json_object_get(omp, "accuracy")), accuracy, 2e-4);
    json_decref(ref);
    json_decref(omp);
}

#define GROUP_SET_UP open_all
#define GROUP_TEAR_DOWN close_all
#include "run_tests.h"
