/* What a sample of a training leaves: the weights of `last`, and the losses by which they are judged,
 * against trainings of the oracle here (its updates are tested elsewhere). */
#include "checks.h"
#include "cpu_sessions.h"
#include "workloads/mnist/cpu.h"

#include <omp.h>

/* Weights and biases of the oracle, and the session's case. */
typedef struct twin {
    case_t spec;
    inputs_t inputs;
    mnist_training_t training;
    mnist_net_t *net;
} twin_t;

/* With the start weights of REFILLED. */
static void open_twin(twin_t *twin, const struct subject *subject) {
    twin->spec = subject_case(subject);
    twin->inputs = subject->inputs(&twin->spec);
    mnist_data_t *network = &twin->training.network;
    *network = *(const mnist_data_t *)twin->inputs.data;
    network->batch = (size_t)case_param_int(&twin->spec, "batch", 1);
    const size_t steps = MNIST_IMAGES / network->batch;
    twin->training.sample_steps = steps;
    twin->training.rate = subject->rate;
    twin->net = mnist_net_new(network);
    flip_by_hand(&twin->inputs, REFILLED);
    mnist_net_start(twin->net);
    flip_by_hand(&twin->inputs, REFILLED);
}

static void close_twin(twin_t *twin) {
    mnist_net_free(twin->net);
    twin->inputs.release(twin->inputs.data);
    case_free(&twin->spec);
}

static void train(twin_t *twin, size_t from, size_t to) {
    for (size_t step = from; step < to; step++)
        mnist_net_step(twin->net, step, twin->training.rate, NULL);
}

/* The caller frees them. */
static float *weights_of(const twin_t *twin) {
    float *weights = mem_alloc(twin->training.network.n_weights * sizeof *weights);
    mnist_net_weights(twin->net, weights);
    return weights;
}

/* ---- the weights ----------------------------------------------------------------------------- */

static npy_t last_weights(const struct subject *subject, session_t *session, int seed) {
    struct subject weights = *subject;
    weights.compared = "weights";
    json_decref(ask(session, case_sample, sample_request(1, json_integer(seed))));
    return array_of(&weights, session, case_last);
}

static void check_weights(const struct subject *subject) {
    session_t *session = open_session(subject);
    npy_t found = last_weights(subject, session, REFILLED);
    refill(session, 0);
    end_session(session);
    twin_t twin;
    open_twin(&twin, subject);
    float *start = weights_of(&twin);
    train(&twin, 0, twin.training.sample_steps);
    float *right = weights_of(&twin);
    assert_int_equal(found.n, twin.training.network.n_weights);
    for (size_t i = 0; i < found.n; i++)
        assert_near(found.values[i], right[i], 1e-6);
    assert_memory_not_equal(right, start, found.n * sizeof *right);
    close_twin(&twin);
    free(start);
    free(right);
    npy_free(&found);
}

static void check_fill(const struct subject *subject) {
    session_t *session = open_session(subject);
    for (size_t p = 0; p < session->n_probes; p++)
        session->probes[p].run = write_nothing;
    npy_t weights = last_weights(subject, session, 0), next = last_weights(subject, session, 0);
    assert_true(weights.values[0] != 0 && fabs(weights.values[0]) <= 1);
    /* Not the first alone: as float16, one in thousands is equal. */
    assert_memory_not_equal(weights.values, next.values, weights.n * sizeof *weights.values);
    npy_free(&weights);
    npy_free(&next);
    end_session(session);
}

static void test_last_has_the_weights_of_a_training(void **state) {
    for (size_t i = 0; i < COUNT_OF(SUBJECTS); i++) {
        check_weights(&SUBJECTS[i]);
        check_fill(&SUBJECTS[i]);
    }
}

/* ---- their loss ------------------------------------------------------------------------------ */

static json_t *ask_loss(const struct subject *subject, const float *weights, size_t n,
                        error_t *err) {
    char *path = mem_format("%s/weights.npy", world.folder);
    assert_int_equal(npy_write_f32(path, weights, &n, 1, err), STATUS_OK);
    case_t spec = subject_case(subject);
    json_t *request = json_pack("{s:s}", "path", world.folder);
    json_t *answer = case_loss(subject->ops, &spec, request, err);
    json_decref(request);
    case_free(&spec);
    remove(path);
    free(path);
    return answer;
}

static void assert_loss(const struct subject *subject, const twin_t *twin, double expected) {
    error_t err = ERROR_INIT;
    float *weights = weights_of(twin);
    json_t *answer = ask_loss(subject, weights, twin->training.network.n_weights, &err);
    if (answer == NULL)
        fail_msg("%s", err.text);
    const json_t *loss = json_object_get(answer, "loss");
    assert_true(json_is_real(loss));
    if (!(fabs(json_number_value(loss) - expected) <= 1e-6))
        fail_msg("%s: %.9g, expected %.9g", subject->workload, json_number_value(loss), expected);
    json_decref(answer);
    free(weights);
}

static json_t *learned_request(double most_s) {
    return json_pack("{s:I}", "most_ns", (json_int_t)(most_s * 1e9));
}

/* At a rate at which every step shows. */
static struct subject oracle_of(const struct subject *subject) {
    struct subject oracle = *subject;
    oracle.variant = "ref";
    oracle.rate = 0.1;
    return oracle;
}

/* Before a sample, after half of its steps and after all. */
static void check_losses(const struct subject *subject) {
    twin_t twin;
    session_t *session = open_session(subject);
    open_twin(&twin, subject);
    refill(session, REFILLED);
    mnist_data_refill(twin.inputs.data, 0); /* as another case that shares them */
    session->has_last = true;
    json_t *answer = ask(session, case_learned, learned_request(60));
    assert_false(session->has_last);
    refill(session, 0);
    end_session(session);
    const size_t steps = twin.training.sample_steps;
    const size_t at[LEARNED_LOSSES] = {0, steps / 2, steps};
    const json_t *losses = json_object_get(answer, "losses");
    assert_int_equal(json_array_size(losses), LEARNED_LOSSES);
    for (size_t i = 0; i < LEARNED_LOSSES; i++) {
        train(&twin, i > 0 ? at[i - 1] : 0, at[i]);
        assert_loss(subject, &twin, json_number_value(json_array_get(losses, i)));
        for (size_t k = 0; k < i; k++)
            assert_true(fabs(json_number_value(json_array_get(losses, i)) -
                             json_number_value(json_array_get(losses, k))) > 1e-5);
    }
    close_twin(&twin);
    json_decref(answer);
}

static void test_losses_of_the_oracle(void **state) {
    for (size_t i = 0; i < COUNT_OF(SUBJECTS); i++) {
        const struct subject oracle = oracle_of(&SUBJECTS[i]);
        check_losses(&oracle);
    }
}

static const struct subject NO_TRAINING = {"null", "steady", "", .ops = &null_synthetic};

static const struct subject *find_subject(const char *workload, const char *variant) {
    size_t i = 0;
    while (strcmp(SUBJECTS[i].workload, workload) != 0 || strcmp(SUBJECTS[i].variant, variant) != 0)
        i++;
    return &SUBJECTS[i];
}

static void assert_not_learned(const struct subject *subject, double most_s, const char *why) {
    error_t err = ERROR_INIT;
    session_t *session = open_session(subject);
    json_t *request = learned_request(most_s);
    assert_null(case_learned(session, request, &err));
    assert_has(err.text, why);
    json_decref(request);
    end_session(session);
}

static void test_what_is_not_learned(void **state) {
    const struct subject *omp = find_subject("mlp_train", "omp");
    assert_not_learned(omp, 60, "only the reference");
    assert_not_learned(find_subject("mlp_train", "ref"), 1e-9, "the reference would take ");
    session_t *session = open_session(&NO_TRAINING);
    json_t *answer = ask(session, case_learned, learned_request(60));
    assert_null(json_object_get(answer, "losses"));
    json_decref(answer);
    end_session(session);
    double losses[LEARNED_LOSSES];
    twin_t twin;
    open_twin(&twin, omp);
    assert_fails(mnist_learned(twin.net, &twin.training, 0, losses, &err), STATUS_FAILED,
                 "the reference has done 1 of 2 steps after 0 s");
    close_twin(&twin);
}

static void test_weights_without_a_loss(void **state) {
    const struct subject *subject = find_subject("mlp_train", "omp");
    twin_t twin;
    open_twin(&twin, subject);
    const size_t n = twin.training.network.n_weights;
    float *weights = weights_of(&twin);
    error_t err = ERROR_INIT;
    assert_null(ask_loss(subject, weights, n - 1, &err));
    assert_text(mem_format("weights has %zu elements, expected (%zu,)", n - 1, n), err.text);
    error_clear(&err);
    assert_null(ask_loss(&NO_TRAINING, weights, n, &err));
    assert_string_equal(err.text, "null is no training with a loss");
    weights[n - 1] = NAN;
    json_t *answer = ask_loss(subject, weights, n, &err);
    assert_true(json_is_null(json_object_get(answer, "loss")));
    json_decref(answer);
    free(weights);
    close_twin(&twin);
}

static int open_with_one_thread(void **state) {
    omp_set_num_threads(1); /* several would wait for each other */
    return open_all(state);
}

#define GROUP_SET_UP open_with_one_thread
#define GROUP_TEAR_DOWN close_all
#include "run_tests.h"
