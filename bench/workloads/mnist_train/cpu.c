/* mnist_train in C: `ref`, the float64 oracle that every other contender is checked against, and
 * `omp` in float32.
 *
 * The oracle's whole training would take minutes, or hours where hidden layers are wide. It makes
 * only the steps that are checked, and tells their losses; an accuracy only where these are all,
 * and the test images are not too much, either. */
#include "base/clock.h"
#include "base/memory.h"
#include "workloads/common/sessions.h"
#include "workloads/mnist/fit.h"
#include "workloads/mnist/omp.h"
#include "workloads/mnist/oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PHASE_TRAIN, PHASE_STEP, PHASE_TOTAL, PHASE_RESIDUAL };

/* Of all matrices: hidden = 2048 is within it. */
static const double MOST_ELEMENTS_TO_EVALUATE = 1e7;

typedef struct state {
    const mnist_data_t *data;
    double rate;
    size_t sample_steps, checked_steps;
    mnist_net_t *ref; /* one of the two */
    mnist_omp_t *omp;
    double *losses; /* of a sample */
} state_t;

static void start(state_t *s) {
    if (s->ref != NULL)
        mnist_net_start(s->ref);
    else
        mnist_omp_start(s->omp);
}

static void train(state_t *s, size_t steps, double *losses, float *const gradients[MNIST_LAYERS]) {
    if (s->omp != NULL) {
        mnist_omp_train(s->omp, steps, s->rate, losses, gradients);
        return;
    }
    for (size_t step = 0; step < steps; step++)
        losses[step] = mnist_net_step(s->ref, step, s->rate, step == 0 ? gradients : NULL);
}

static void descend(state_t *s, size_t steps, double *losses) {
    if (s->omp != NULL) {
        mnist_omp_descend(s->omp, steps, MNIST_DESCENT_RATE, losses);
        return;
    }
    for (size_t step = 0; step < steps; step++)
        losses[step] = mnist_net_step(s->ref, 0, MNIST_DESCENT_RATE, NULL);
}

static double accuracy(state_t *s) {
    if (s->omp != NULL)
        return mnist_omp_accuracy(s->omp);
    const bool few = mnist_matrix_elements(s->data->hidden) <= MOST_ELEMENTS_TO_EVALUATE;
    return few ? mnist_net_accuracy(s->ref) : NAN;
}

static status_t probe(session_t *session, recorder_t *recorder, error_t *err) {
    (void)err;
    state_t *s = session->state;
    int64_t start_ns = clock_ns();
    start(s);
    int64_t before_ns = clock_ns();
    train(s, s->sample_steps, s->losses, NULL);
    int64_t after_ns = clock_ns();
    const double train_ns = (double)(after_ns - before_ns);
    const double total_ns = (double)(after_ns - start_ns);
    recorder_add_between(recorder, PHASE_TRAIN, train_ns, before_ns, after_ns);
    recorder_add(recorder, PHASE_STEP, train_ns / (double)s->sample_steps);
    recorder_add_between(recorder, PHASE_TOTAL, total_ns, start_ns, after_ns);
    recorder_add(recorder, PHASE_RESIDUAL, total_ns - train_ns);
    return STATUS_OK;
}

static void close_case(session_t *session) {
    state_t *s = session->state;
    if (s->ref != NULL)
        mnist_net_free(s->ref);
    if (s->omp != NULL)
        mnist_omp_free(s->omp);
    mnist_data_release(s->data);
    free(s->losses);
    free(s);
}

/* Reasons to skip the case; the oracle takes all. */
static status_t can_run(const case_t *spec, bool is_ref, error_t *err) {
    const int64_t hidden = case_param_int(spec, "hidden", 1);
    if (!is_ref && strcmp(spec->dtype, "f32") != 0)
        return error_set(err, STATUS_FAILED, "dtype %s: only f32 is written for %s", spec->dtype,
                         spec->variant);
    if (!is_ref && hidden > MNIST_OMP_MAX_HIDDEN)
        return error_set(err, STATUS_FAILED, "hidden %lld: %s is written for at most %d",
                         (long long)hidden, spec->variant, MNIST_OMP_MAX_HIDDEN);
    /* The oracle's gradients are kept too, in float32, while they are written. */
    const double elements = mnist_matrix_elements((size_t)hidden);
    return mnist_data_room(spec, mnist_net_bytes(spec) + elements * sizeof(float), err);
}

/* Train as far as this variant does, once; tell what came of it. */
static status_t train_once(session_t *session, error_t *err) {
    state_t *s = session->state;
    const size_t whole = s->data->steps;
    mnist_fit_t fit = mnist_fit_new(s->ref != NULL ? s->checked_steps : whole);
    int64_t start_ns = clock_ns();
    start(s);
    train(s, fit.steps, fit.losses, NULL);
    session_add_once(session, fit.steps == whole ? "training" : "first_run",
                     (double)(clock_ns() - start_ns));
    status_t status = mnist_fit_check(&fit, err);
    if (status == STATUS_OK) {
        fit.accuracy = fit.steps == whole ? accuracy(s) : NAN;
        session->results_json =
            mnist_fit_json(&fit, s->data->images, s->ref != NULL ? "f64" : "f32");
    }
    mnist_fit_free(&fit);
    return status;
}

static state_t *new_state(const case_t *spec, const mnist_data_t *data, bool is_ref) {
    state_t *s = mem_zeroed(1, sizeof *s);
    s->data = data;
    s->rate = case_param(spec, "rate")->real;
    s->sample_steps = mnist_sample_steps(data->steps);
    s->checked_steps = mnist_checked_steps(data->hidden, data->steps);
    s->losses = mem_zeroed(s->sample_steps, sizeof *s->losses);
    if (is_ref)
        s->ref = mnist_net_new(data);
    else
        s->omp = mnist_omp_new(data);
    return s;
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    const case_t *spec = request->spec;
    const bool is_ref = strcmp(spec->variant, "ref") == 0;
    if (!is_ref && strcmp(spec->variant, "omp") != 0)
        return error_set(err, STATUS_FAILED, "no variant \"%s\" (known: ref, omp)", spec->variant);
    session->skipped = true;
    TRY(can_run(spec, is_ref, err));
    session->skipped = false;
    const mnist_data_t *data;
    int64_t start_ns = clock_ns();
    TRY(mnist_data_take(spec, &data, err));
    session_add_once(session, "data", (double)(clock_ns() - start_ns));
    session->state = new_state(spec, data, is_ref);
    if (train_once(session, err) != STATUS_OK) {
        close_case(session);
        return err->status;
    }
    recorder_phase(&session->recorder, "train", CLOCK_HOST);
    recorder_phase(&session->recorder, "step", CLOCK_HOST);
    recorder_phase(&session->recorder, "total", CLOCK_HOST);
    recorder_phase(&session->recorder, "residual", CLOCK_HOST);
    session_add_probe(session, "train", probe);
    return STATUS_OK;
}

static float *new_gradient(size_t n) {
    float *gradient = mem_alloc(n * sizeof *gradient);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        gradient[i] = NAN;
    return gradient;
}

static status_t write_training(state_t *s, const char *folder, text_list_t *arrays, error_t *err) {
    float *gradients[MNIST_LAYERS];
    mnist_fit_t fit = mnist_fit_new(s->checked_steps);
    for (size_t l = 0; l < MNIST_LAYERS; l++)
        gradients[l] = new_gradient((s->data->sizes[l] + 1) * s->data->sizes[l + 1]);
    start(s);
    train(s, fit.steps, fit.losses, gradients);
    status_t status = mnist_write_gradients(s->data, gradients, folder, arrays, err);
    if (status == STATUS_OK)
        status = mnist_write_losses(fit.losses, fit.steps, folder, arrays, err);
    for (size_t l = 0; l < MNIST_LAYERS; l++)
        free(gradients[l]);
    mnist_fit_free(&fit);
    return status;
}

static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    state_t *s = session->state;
    TRY(write_training(s, folder, arrays, err));
    mnist_fit_t fit = mnist_fit_new(mnist_descent_steps(s->data->hidden, s->data->steps));
    start(s);
    descend(s, fit.steps, fit.losses);
    status_t status = mnist_write_descent(fit.losses, fit.steps, folder, arrays, err);
    mnist_fit_free(&fit);
    return status;
}

const session_ops_t mnist_train_cpu = {
    .workload = "mnist_train", .open = open_case, .output = output, .close = close_case};
