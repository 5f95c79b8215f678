/* Refilled inputs and fresh samples of every workload on the CPU: outputs against those of a case
 * that was opened with inputs whose signs were changed here, element by element. */
#include "base/rng.h"
#include "io/npy.h"
#include "mnist_training.h"
#include "worker/case_requests.h"
#include "workloads/common/sessions.h"
#include "workloads/linreg_train/data.h"
#include "workloads/mlp_infer/data.h"
#include "workloads/mlp_train/data.h"

#include <omp.h>
#include <string.h>

enum { SEED = 42, REFILLED = 5 };

/* The inputs of a case, as the shared data has them. */
typedef struct inputs {
    float *arrays[2 * MNIST_MAX_LAYERS];
    size_t n[2 * MNIST_MAX_LAYERS], n_arrays;
    const void *data;
    void (*release)(const void *data);
} inputs_t;

static void release_mlp(const void *data) {
    mlp_data_release(data);
}

static void release_linreg(const void *data) {
    linreg_data_release(data);
}

static void release_mnist(const void *data) {
    mnist_data_release(data);
}

static inputs_t mlp_inputs(const case_t *spec) {
    const mlp_data_t *data = mlp_data_take(spec, SEED);
    return (inputs_t){{data->x}, {data->batch * data->sizes[0]}, 1, data, release_mlp};
}

static inputs_t linreg_inputs(const case_t *spec) {
    const linreg_data_t *data = linreg_data_take(spec, SEED);
    return (inputs_t){{data->x_train}, {data->n_train}, 1, data, release_linreg};
}

static inputs_t mnist_inputs(const case_t *spec) {
    const mnist_data_t *data;
    error_t err = ERROR_INIT;
    const status_t status = strcmp(spec->workload, "mlp_train") == 0
                                ? mlpt_data_take(spec, &data, &err)
                                : mnist_data_take(spec, &data, &err);
    assert_int_equal(status, STATUS_OK);
    inputs_t inputs = {.data = data, .release = release_mnist};
    for (size_t l = 0; l < data->layers; l++) {
        inputs.arrays[inputs.n_arrays] = data->w[l];
        inputs.n[inputs.n_arrays++] = data->sizes[l] * data->sizes[l + 1];
        inputs.arrays[inputs.n_arrays] = data->b[l];
        inputs.n[inputs.n_arrays++] = data->sizes[l + 1];
    }
    return inputs;
}

/* Inference and regression have enough elements for more than one period of the signs. */
static const struct subject {
    const char *workload, *variant, *dtype;
    struct {
        const char *name;
        int64_t value;
    } ints[5];
    double rate;
    const char *compared; /* array */
    const session_ops_t *ops;
    inputs_t (*inputs)(const case_t *spec);
} SUBJECTS[] = {
    {"mlp_infer", "ref", "f32", {{"batch", 20000}}, 0, "y", &mlp_infer_cpu, mlp_inputs},
    {"mlp_infer", "ref", "f16", {{"batch", 20000}}, 0, "y", &mlp_infer_cpu, mlp_inputs},
    {"mlp_infer", "omp", "f32", {{"batch", 20000}}, 0, "y", &mlp_infer_cpu, mlp_inputs},
    {"linreg_train",
     "ref",
     "f32",
     {{"points", 100003}, {"epochs", 3}},
     0.001,
     "params",
     &linreg_train_cpu,
     linreg_inputs},
    {"linreg_train",
     "omp",
     "f32",
     {{"points", 100003}, {"epochs", 3}},
     0.001,
     "losses",
     &linreg_train_cpu,
     linreg_inputs},
    {"linreg_train",
     "omp",
     "f32",
     {{"points", 100003}, {"epochs", 3}},
     0.001,
     "test_loss",
     &linreg_train_cpu,
     linreg_inputs},
    {"mnist_train",
     "ref",
     "f16",
     {{"hidden", 8}, {"batch", 4}, {"steps", 3}},
     0.003,
     "losses",
     &mnist_train_cpu,
     mnist_inputs},
    {"mnist_train",
     "omp",
     "f32",
     {{"hidden", 8}, {"batch", 4}, {"steps", 3}},
     0.003,
     "losses",
     &mnist_train_cpu,
     mnist_inputs},
    {"mlp_train",
     "omp",
     "f32",
     {{"width", 2}, {"depth", 2}, {"batch", 30000}, {"epochs", 2}, {"seed", 1}},
     0.1,
     "losses",
     &mlp_train_cpu,
     mnist_inputs},
};

static case_t subject_case(const struct subject *subject) {
    static int64_t layers[] = {4, 5, 1};
    case_t spec = {.engine = mem_text("cpu"),
                   .variant = mem_text(subject->variant),
                   .dtype = mem_text(subject->dtype)};
    for (size_t i = 0; i < 5 && subject->ints[i].name != NULL; i++)
        case_add_param(&spec, subject->ints[i].name,
                       &(value_t){.kind = VALUE_INT, .integer = subject->ints[i].value});
    if (subject->rate > 0)
        case_add_param(&spec, "rate", &(value_t){.kind = VALUE_REAL, .real = subject->rate});
    if (strcmp(subject->workload, "mlp_infer") == 0)
        case_add_param(&spec, "layers",
                       &(value_t){.kind = VALUE_INTS, .ints = layers, .n_ints = 3});
    workload_complete(workload_find(subject->workload), &spec);
    return spec;
}

static session_t *open_session(const struct subject *subject) {
    session_t *session = mem_zeroed(1, sizeof *session);
    error_t err = ERROR_INIT;
    session->ops = subject->ops;
    session->spec = subject_case(subject);
    const open_request_t request = {.spec = &session->spec, .seed = SEED};
    if (session->ops->open(session, &request, &err) != STATUS_OK)
        fail_msg("%s: %s", session->spec.id, err.text);
    return session;
}

static void close_session(session_t *session) {
    session->ops->close(session);
    recorder_free(&session->recorder);
    case_free(&session->spec);
    free(session->results_json);
    free(session);
}

/* ---- requests -------------------------------------------------------------------------------- */

typedef json_t *handler_t(session_t *session, const json_t *request, error_t *err);

static json_t *ask(session_t *session, handler_t *handler, json_t *request) {
    error_t err = ERROR_INIT;
    json_t *answer = handler(session, request, &err);
    if (answer == NULL)
        fail_msg("%s: %s", session->spec.id, err.text);
    json_decref(request);
    return answer;
}

static void refill(session_t *session, int seed) {
    json_decref(ask(session, case_refill, json_pack("{s:i}", "seed", seed)));
}

static json_t *sample_request(int most, json_t *fresh) {
    return json_pack("{s:i, s:i, s:i, s:i, s:o}", "budget_ns", 1000000000, "max_samples", most,
                     "warmup_samples", 1, "warmup_ns", 0, "fresh", fresh);
}

static void assert_no_last(session_t *session) {
    error_t err = ERROR_INIT;
    json_t *request = json_pack("{s:s}", "path", world.folder);
    assert_null(case_last(session, request, &err));
    assert_string_equal(err.text, "last before sample with \"fresh\"");
    json_decref(request);
}

/* The compared array of what output or last writes. */
static npy_t array_of(const struct subject *subject, session_t *session, handler_t *handler) {
    npy_t array;
    error_t err = ERROR_INIT;
    json_decref(ask(session, handler, json_pack("{s:s}", "path", world.folder)));
    char *path = mem_format("%s/%s.npy", world.folder, subject->compared);
    if (npy_read(path, &array, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    remove(path);
    free(path);
    return array;
}

static void assert_equal(const npy_t *found, const npy_t *expected) {
    assert_in_range(found->n, 1, expected->n);
    assert_memory_equal(found->values, expected->values, found->n * sizeof *found->values);
}

static void assert_output(const struct subject *subject, session_t *session,
                          const npy_t *expected) {
    npy_t found = array_of(subject, session, case_output);
    assert_int_equal(found.n, expected->n);
    assert_equal(&found, expected);
    npy_free(&found);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void flip_by_hand(const inputs_t *inputs, uint64_t seed) {
    for (size_t a = 0; a < inputs->n_arrays; a++)
        for (size_t i = 0; i < inputs->n[a]; i++)
            if (rng_word(seed, STREAM_SIGNS, i / 32 % SIGNS_WORDS) >> i % 32 & 1)
                inputs->arrays[a][i] = -inputs->arrays[a][i];
}

/* What a case writes that was opened with flipped inputs. */
static npy_t expected_of(const struct subject *subject, const inputs_t *inputs, uint64_t seed) {
    flip_by_hand(inputs, seed);
    session_t *session = open_session(subject);
    npy_t expected = array_of(subject, session, case_output);
    close_session(session);
    flip_by_hand(inputs, seed);
    return expected;
}

static void check_subject(const struct subject *subject) {
    case_t spec = subject_case(subject);
    const inputs_t inputs = subject->inputs(&spec);
    npy_t refilled = expected_of(subject, &inputs, REFILLED);
    npy_t other = expected_of(subject, &inputs, REFILLED + 1);
    session_t *session = open_session(subject);
    npy_t opened = array_of(subject, session, case_output);
    assert_memory_not_equal(opened.values, refilled.values, opened.n * sizeof *opened.values);
    assert_memory_not_equal(other.values, refilled.values, other.n * sizeof *other.values);
    refill(session, REFILLED + 1);
    refill(session, REFILLED);
    assert_output(subject, session, &refilled);
    refill(session, 0);
    assert_output(subject, session, &opened);

    /* A second case with the same data has its own inputs, also when it is opened. */
    refill(session, REFILLED);
    session_t *second = open_session(subject);
    if (session->results_json != NULL) /* of the training that opening runs */
        assert_string_equal(second->results_json, session->results_json);
    assert_output(subject, second, &opened);
    assert_output(subject, session, &refilled);
    refill(second, REFILLED + 1);
    close_session(second);

    assert_no_last(session);
    json_decref(ask(session, case_sample, sample_request(1, json_null())));
    assert_no_last(session);
    json_decref(ask(session, case_sample, sample_request(1, json_integer(REFILLED + 1))));
    npy_t last = array_of(subject, session, case_last);
    assert_equal(&last, &other); /* a sample may have fewer losses than are checked */
    npy_free(&last);
    assert_output(subject, session, &other); /* the inputs stay */
    assert_no_last(session);
    close_session(session);
    npy_free(&opened);
    npy_free(&refilled);
    npy_free(&other);
    inputs.release(inputs.data);
    case_free(&spec);
}

static void test_refill_and_last(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof SUBJECTS / sizeof *SUBJECTS; i++)
        check_subject(&SUBJECTS[i]);
}

/* What a run leaves that writes nothing: neither an earlier result nor a pattern. */
static status_t write_nothing(session_t *session, recorder_t *recorder, error_t *err) {
    (void)err;
    for (unsigned i = 0; i < session->recorder.n_phases; i++)
        recorder_add(recorder, i, 1);
    return STATUS_OK;
}

static void test_outputs_are_filled_before_a_fresh_sample(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof SUBJECTS / sizeof *SUBJECTS; i++) {
        if (strcmp(SUBJECTS[i].compared, "test_loss") == 0) /* from w and b, by last */
            continue;
        session_t *session = open_session(&SUBJECTS[i]);
        json_decref(ask(session, case_sample, sample_request(1, json_integer(0))));
        npy_t right = array_of(&SUBJECTS[i], session, case_last);
        for (size_t p = 0; p < session->n_probes; p++)
            session->probes[p].run = write_nothing;
        json_decref(ask(session, case_sample, sample_request(1, json_integer(0))));
        npy_t left = array_of(&SUBJECTS[i], session, case_last);
        for (size_t k = 0; k < left.n && strcmp(SUBJECTS[i].workload, "linreg_train") != 0; k++)
            assert_true(left.values[k] >= -1 && left.values[k] <= 1);
        assert_true(left.values[0] != right.values[0]);
        npy_free(&left);
        npy_free(&right);
        close_session(session);
    }
}

static size_t samples_of(json_t *answer, const char *phase) {
    const size_t n = json_array_size(json_object_get(json_object_get(answer, "phases"), phase));
    json_decref(answer);
    return n;
}

static void test_number_of_samples(void **state) {
    (void)state;
    session_t *session = open_session(&SUBJECTS[0]);
    for (size_t p = 0; p < session->n_probes; p++)
        session->probes[p].run = write_nothing; /* each adds a number to all four phases */
    bool seen[10] = {false};
    for (int i = 0; i < 300; i++) {
        const size_t n = samples_of(
            ask(session, case_sample, sample_request(8, json_integer(REFILLED))), "total");
        assert_in_range(n, 2 * 6, 2 * 9);
        seen[n / 2] = true;
    }
    for (size_t n = 6; n <= 9; n++)
        assert_true(seen[n]);
    assert_int_equal(samples_of(ask(session, case_sample, sample_request(8, json_null())), "total"),
                     2 * 8);
    for (int i = 0; i < 20; i++)
        assert_int_equal(
            samples_of(ask(session, case_sample, sample_request(1, json_integer(0))), "total"),
            2 * 2);
    close_session(session);
}

int main(void) {
    omp_set_num_threads(1); /* several would wait for each other */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refill_and_last),
        cmocka_unit_test(test_outputs_are_filled_before_a_fresh_sample),
        cmocka_unit_test(test_number_of_samples),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
