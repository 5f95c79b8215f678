/* Open cases of every workload on the CPU, and the requests that the tests of refilled inputs send
 * them. */
#ifndef TESTS_CPU_SESSIONS_H
#define TESTS_CPU_SESSIONS_H

#include "base/rng.h"
#include "checks.h"
#include "io/npy.h"
#include "made_case.h"
#include "mnist_training.h"
#include "worker/requests.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"
#include "workloads/mlp_train/data.h"

enum { SEED = 42, REFILLED = 5 };

/* The inputs of a case, as the shared data has them. */
typedef struct inputs {
    float *arrays[2 * MNIST_MAX_LAYERS];
    size_t n[2 * MNIST_MAX_LAYERS], n_arrays;
    const void *data;
    void (*release)(const void *data);
} inputs_t;

static inline void release_mnist(const void *data) {
    mnist_data_release(data);
}

static inline inputs_t mnist_inputs(const case_t *spec) {
    const mnist_data_t *data;
    error_t err = ERROR_INIT;
    assert_int_equal(mlpt_data_take(spec, &data, &err), STATUS_OK);
    inputs_t inputs = {.data = data, .release = release_mnist};
    for (size_t l = 0; l < data->layers; l++) {
        inputs.arrays[inputs.n_arrays] = data->w[l];
        inputs.n[inputs.n_arrays++] = data->sizes[l] * data->sizes[l + 1];
        inputs.arrays[inputs.n_arrays] = data->b[l];
        inputs.n[inputs.n_arrays++] = data->sizes[l + 1];
    }
    return inputs;
}

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
    {"mlp_train",
     "ref",
     "f32",
     {{"width", 2}, {"depth", 2}, {"batch", 20000}, {"epochs", 1}, {"seed", 1}},
     0.1,
     "losses",
     &mlp_train_cpu,
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

static inline case_t subject_case(const struct subject *subject) {
    case_t spec = {.engine = mem_text("cpu"),
                   .variant = mem_text(subject->variant),
                   .dtype = mem_text(subject->dtype)};
    for (size_t i = 0; i < 5 && subject->ints[i].name != NULL; i++)
        add_integer(&spec, subject->ints[i].name, subject->ints[i].value);
    if (subject->rate > 0)
        case_add_param(&spec, "rate", &(value_t){.kind = VALUE_REAL, .real = subject->rate});
    workload_complete(workload_find(subject->workload), &spec);
    return spec;
}

static inline session_t *open_session(const struct subject *subject) {
    session_t *session = mem_zeroed(1, sizeof *session);
    error_t err = ERROR_INIT;
    session->ops = subject->ops;
    session->spec = subject_case(subject);
    const open_request_t request = {.spec = &session->spec, .seed = SEED};
    if (session->ops->open(session, &request, &err) != STATUS_OK)
        fail_msg("%s: %s", session->spec.id, err.text);
    return session;
}

static inline void end_session(session_t *session) {
    close_session(session);
    free(session);
}

/* ---- requests -------------------------------------------------------------------------------- */

typedef json_t *handler_t(session_t *session, const json_t *request, error_t *err);

static inline json_t *ask(session_t *session, handler_t *handler, json_t *request) {
    error_t err = ERROR_INIT;
    json_t *answer = handler(session, request, &err);
    if (answer == NULL)
        fail_msg("%s: %s", session->spec.id, err.text);
    json_decref(request);
    return answer;
}

static inline void refill(session_t *session, int seed) {
    json_decref(ask(session, case_refill, json_pack("{s:i}", "seed", seed)));
}

static inline json_t *sample_request(int most, json_t *fresh) {
    return json_pack("{s:I, s:i, s:i, s:i, s:o}", "budget_ns", (json_int_t)100000000000,
                     "max_samples", most, "warmup_samples", 1, "warmup_ns", 0, "fresh", fresh);
}

/* The compared array of what output or last writes. */
static inline npy_t array_of(const struct subject *subject, session_t *session,
                             handler_t *handler) {
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

static inline void flip_by_hand(const inputs_t *inputs, uint64_t seed) {
    for (size_t a = 0; a < inputs->n_arrays; a++)
        for (size_t i = 0; i < inputs->n[a]; i++)
            if (rng_word(seed, STREAM_SIGNS, i / 32 % SIGNS_WORDS) >> i % 32 & 1)
                inputs->arrays[a][i] = -inputs->arrays[a][i];
}

/* A probe that computes nothing. */
static inline status_t write_nothing(session_t *session, recorder_t *recorder, error_t *err) {
    for (unsigned i = 0; i < session->recorder.n_phases; i++)
        recorder_add(recorder, i, 1);
    return STATUS_OK;
}

#endif
