#include "workloads/mnist/cpu.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/npy.h"
#include "workloads/common/session_parts.h"
#include "workloads/mnist/oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== what a sample learned =================================================================== */

enum { MNIST_LEARNED_IMAGES = 2000 };

enum { BATCH = 100 }; /* images at once */

status_t mnist_learned(mnist_net_t *net, const mnist_training_t *training, double most_ns,
                       double losses[LEARNED_LOSSES], error_t *err) {
    const int64_t start_ns = clock_ns();
    const size_t steps = training->sample_steps;
    mnist_net_start(net);
    losses[0] = mnist_net_loss(net, MNIST_LEARNED_IMAGES);
    for (size_t step = 0; step < steps; step++) {
        if (step == steps / 2)
            losses[1] = mnist_net_loss(net, MNIST_LEARNED_IMAGES);
        mnist_net_step(net, step, training->rate, NULL);
        if ((double)(clock_ns() - start_ns) > most_ns)
            return error_set(err, STATUS_FAILED,
                             "the reference has done %zu of %zu steps after %.3g s", step + 1,
                             steps, most_ns / 1e9);
    }
    losses[2] = mnist_net_loss(net, MNIST_LEARNED_IMAGES);
    return STATUS_OK;
}

static double loss_of(const mnist_data_t *data, const npy_t *weights) {
    mnist_data_t network = *data;
    network.batch = BATCH;
    float *values = mem_alloc(weights->n * sizeof *values);
    for (size_t i = 0; i < weights->n; i++)
        values[i] = (float)weights->values[i];
    mnist_net_t *net = mnist_net_new(&network);
    mnist_net_set(net, values);
    const double loss = mnist_net_loss(net, MNIST_LEARNED_IMAGES);
    mnist_net_free(net);
    free(values);
    return loss;
}

static status_t read_weights(const char *folder, size_t n, npy_t *weights, error_t *err) {
    char *path = mem_format("%s/weights.npy", folder);
    npy_file_t file;
    status_t status = npy_open(path, &file, err);
    if (status == STATUS_OK) {
        if (file.array.n_dimensions != 1 || file.array.n != n)
            status = error_set(err, STATUS_FAILED, "weights has %zu elements, expected (%zu,)",
                               file.array.n, n);
        npy_close(&file);
    }
    if (status == STATUS_OK)
        status = npy_read(path, weights, err);
    free(path);
    return status;
}

/* Asked once in each pass over a contender: loading the images would take longer than the rest, so
 * they stay until the process ends. */
static status_t keep_images(error_t *err) {
    static const dataset_t *images;
    return images != NULL ? STATUS_OK : mnist_images_take(&images, err);
}

status_t mnist_loss(const case_t *spec, const mnist_cpu_workload_t *workload, const char *folder,
                    double *loss, error_t *err) {
    mnist_training_t training;
    npy_t weights;
    TRY(keep_images(err));
    TRY(workload->describe(spec, &training, err));
    const status_t status = read_weights(folder, training.data->n_weights, &weights, err);
    if (status == STATUS_OK) {
        *loss = loss_of(training.data, &weights);
        npy_free(&weights);
    }
    mnist_data_release(training.data);
    return status;
}

/* ==== a training on the CPU =================================================================== */

/* Of TF32: its tolerance has room for what float32 moves. */
static const double WIDE_TOLERANCE = 1e-3;

typedef struct state {
    mnist_training_t training; /* with the order of the current epoch */
    uint32_t *order;           /* of epochs after the first */
    mnist_net_t *ref;          /* NULL for omp */
    mnist_omp_t *omp;          /* NULL for ref */
    double *losses;            /* of a sample */
    double step_ns;            /* of a step when the case was opened */
} state_t;

/* ---- either network -------------------------------------------------------------------------- */

static void start(state_t *s) {
    if (s->ref != NULL)
        mnist_net_start(s->ref);
    else
        mnist_omp_start(s->omp);
}

/* The first `steps` steps of the current epoch; `gradients` gets those of the first. */
static void train(state_t *s, size_t steps, double *losses, float *const *gradients) {
    const double rate = s->training.rate;
    if (s->omp != NULL)
        mnist_omp_train(s->omp, steps, rate, losses, gradients);
    else
        for (size_t step = 0; step < steps; step++)
            losses[step] = mnist_net_step(s->ref, step, rate, step == 0 ? gradients : NULL);
}

static double validate(state_t *s, double *accuracy) {
    return s->ref != NULL ? mnist_net_validate(s->ref, accuracy)
                          : mnist_omp_validate(s->omp, accuracy);
}

/* ---- trainings ------------------------------------------------------------------------------- */

static size_t all_steps(const mnist_training_t *training) {
    return training->network.steps * training->epochs;
}

static void set_epoch(state_t *s, size_t epoch) {
    mnist_data_t *network = &s->training.network;
    network->order = epoch == 0 ? s->training.data->order : s->order;
    if (epoch > 0)
        mnist_images_order(s->order, network->seed, (uint32_t)epoch);
}

/* The first steps from the weights that are set, over as many epochs as needed. */
static void train_on(state_t *s, size_t steps, double *losses, float *const *gradients) {
    const size_t of_epoch = s->training.network.steps;
    for (size_t done = 0, epoch = 0; done < steps; epoch++) {
        const size_t left = steps - done, n = left < of_epoch ? left : of_epoch;
        set_epoch(s, epoch);
        train(s, n, losses + done, epoch == 0 ? gradients : NULL);
        done += n;
    }
    set_epoch(s, 0);
}

static void train_first(state_t *s, size_t steps, double *losses, float *const *gradients) {
    start(s);
    train_on(s, steps, losses, gradients);
}

static status_t train_epochs(state_t *s, mnist_fit_t *fit, error_t *err) {
    start(s);
    for (size_t epoch = 0; epoch < s->training.epochs; epoch++) {
        mnist_epoch_t after = {.has_memory = false};
        set_epoch(s, epoch);
        train(s, s->training.network.steps, fit->losses + fit->steps, NULL);
        fit->steps += s->training.network.steps;
        TRY(mnist_fit_check(fit, err));
        after.validation_loss = validate(s, &after.accuracy);
        TRY(mnist_fit_add_epoch(fit, &after, err));
    }
    set_epoch(s, 0);
    return STATUS_OK;
}

static status_t train_steps(state_t *s, size_t steps, mnist_fit_t *fit, error_t *err) {
    fit->steps = steps;
    train_first(s, steps, fit->losses, NULL);
    return mnist_fit_check(fit, err);
}

/* The untimed training whose results are kept: complete, or the oracle's checked steps. */
static status_t train_once(session_t *session, error_t *err) {
    state_t *s = session->state;
    const mnist_training_t *training = &s->training;
    const size_t steps = all_steps(training);
    const bool complete = s->omp != NULL || training->checked_steps == steps;
    mnist_fit_t fit = mnist_fit_of_epochs(steps, training->epochs);
    const int64_t start_ns = clock_ns();
    const status_t status =
        complete ? train_epochs(s, &fit, err) : train_steps(s, training->checked_steps, &fit, err);
    const double took_ns = (double)(clock_ns() - start_ns);
    s->step_ns = took_ns / (double)fit.steps;
    session_add_once(session, complete ? "training" : "first_run", took_ns);
    if (status == STATUS_OK)
        session->results_json = mnist_fit_json(&fit, training->network.images, NULL, NULL);
    mnist_fit_free(&fit);
    return status;
}

/* ---- the session ----------------------------------------------------------------------------- */

enum { TRAIN, VALIDATE, TOTAL, RESIDUAL, STEP };

/* The start weights are set before the clock starts. */
static status_t probe(session_t *session, recorder_t *recorder, error_t *err) {
    (void)err;
    state_t *s = session->state;
    const size_t steps = s->training.sample_steps;
    double accuracy;
    start(s);
    const int64_t start_ns = clock_ns();
    train(s, steps, s->losses, NULL);
    const int64_t trained_ns = clock_ns();
    validate(s, &accuracy);
    const int64_t end_ns = clock_ns();
    const double train_ns = (double)(trained_ns - start_ns);
    recorder_add_between(recorder, TRAIN, train_ns, start_ns, trained_ns);
    recorder_add_between(recorder, VALIDATE, (double)(end_ns - trained_ns), trained_ns, end_ns);
    recorder_add_between(recorder, TOTAL, (double)(end_ns - start_ns), start_ns, end_ns);
    recorder_add(recorder, RESIDUAL, 0);
    recorder_add(recorder, STEP, train_ns / (double)steps);
    return STATUS_OK;
}

status_t mnist_cpu_width(const char *name, size_t width, error_t *err) {
    if (width <= MNIST_OMP_MAX_HIDDEN)
        return STATUS_OK;
    return error_set(err, STATUS_FAILED, "%s %zu: omp supports at most %d", name, width,
                     MNIST_OMP_MAX_HIDDEN);
}

void mnist_cpu_close(session_t *session) {
    state_t *s = session->state;
    if (s->ref != NULL)
        mnist_net_free(s->ref);
    if (s->omp != NULL)
        mnist_omp_free(s->omp);
    mnist_data_release(s->training.data);
    free(s->order);
    free(s->losses);
    free(s);
}

static state_t *new_state(const mnist_training_t *training, bool is_ref) {
    state_t *s = mem_zeroed(1, sizeof *s);
    s->training = *training;
    s->order = mem_alloc(MNIST_IMAGES * sizeof *s->order);
    s->losses = mem_zeroed(training->sample_steps, sizeof *s->losses);
    if (is_ref)
        s->ref = mnist_net_new(&s->training.network);
    else
        s->omp = mnist_omp_new(&s->training.network);
    return s;
}

status_t mnist_cpu_open(session_t *session, const open_request_t *request,
                        const mnist_cpu_workload_t *workload, error_t *err) {
    mnist_training_t training = {.rate = case_param(request->spec, "rate")->real};
    bool is_ref;
    TRY(session_is_ref(session, request->spec, &is_ref, err));
    TRY(session_skip(session, workload->can_run(request->spec, is_ref, err)));
    const int64_t start_ns = clock_ns();
    TRY(workload->describe(request->spec, &training, err));
    session_add_once(session, "data", (double)(clock_ns() - start_ns));
    session->state = new_state(&training, is_ref);
    if (train_once(session, err) != STATUS_OK) {
        mnist_cpu_close(session);
        return err->status;
    }
    session_add_phases(session, CLOCK_HOST,
                       NAMES("train", "validate", "total", "residual", "step"));
    session_add_probe(session, "epoch", probe);
    return STATUS_OK;
}

/* ---- the scale of losses --------------------------------------------------------------------- */

/* More than rounding to float32 does to weights in the checked steps; and how far it may then move the
 * losses, compared with what this does (docs/measuring.md, "Checks"). */
static const double WEIGHTS_MOVE = 1e-6, LOSSES_MOVE = 3;

/* Move the weights by WEIGHTS_MOVE, one half up and the other down. */
static void move_weights(const state_t *s, double by, float *moved) {
    const mnist_data_t *data = s->training.data;
    for (size_t i = 0; i < data->n_weights; i++) {
        const bool up = (i * 2654435761u >> 16 & 1) != 0;
        moved[i] = (float)(data->weights[i] * (1 + (up ? by : -by)));
    }
}

/* The root mean square that errors of the first losses are compared with: that of the losses; or more
 * where float32 cannot follow them, as the rate is high and an input of a ReLU changes its sign. */
static double scale_of_losses(state_t *s, const double *losses, size_t n) {
    double squares = 0, moved_squares = 0, most[MNIST_CHECKED_STEPS] = {0},
           others[MNIST_CHECKED_STEPS];
    float *moved = mem_alloc(s->training.data->n_weights * sizeof *moved);
    for (int sign = -1; sign <= 1; sign += 2) { /* either moves each input to another side */
        move_weights(s, sign * WEIGHTS_MOVE, moved);
        mnist_net_set(s->ref, moved);
        train_on(s, n, others, NULL);
        for (size_t i = 0; i < n; i++)
            most[i] = fmax(most[i], fabs(others[i] - losses[i]));
    }
    free(moved);
    for (size_t i = 0; i < n; i++) {
        squares += losses[i] * losses[i];
        moved_squares += most[i] * most[i];
    }
    return sqrt(fmax(squares, moved_squares * pow(LOSSES_MOVE / s->training.tolerance, 2)) /
                (double)n);
}

static status_t write_losses(state_t *s, const double *losses, const char *folder,
                             text_list_t *arrays, error_t *err) {
    const size_t n = s->training.checked_steps;
    TRY(mnist_write_losses(losses, n, folder, arrays, err));
    if (s->ref == NULL || s->training.tolerance > WIDE_TOLERANCE)
        return STATUS_OK;
    return output_write_scale("losses", scale_of_losses(s, losses, n), folder, err);
}

/* ---- the output ------------------------------------------------------------------------------ */

static status_t write_training(state_t *s, const char *folder, text_list_t *arrays, error_t *err) {
    const mnist_data_t *network = &s->training.network;
    const size_t checked = s->training.checked_steps;
    float *gradients[MNIST_MAX_LAYERS];
    double losses[MNIST_CHECKED_STEPS];
    for (size_t l = 0; l < network->layers; l++) {
        const size_t bytes = (network->sizes[l] + 1) * network->sizes[l + 1] * sizeof(float);
        gradients[l] = mem_alloc(bytes);
        random_fill(gradients[l], bytes, RANDOM_F32);
    }
    random_fill(losses, checked * sizeof *losses, RANDOM_F64);
    train_first(s, checked, losses, gradients);
    status_t status = mnist_write_gradients(network, gradients, folder, arrays, err);
    if (status == STATUS_OK)
        status = write_losses(s, losses, folder, arrays, err);
    for (size_t l = 0; l < network->layers; l++)
        free(gradients[l]);
    return status;
}

status_t mnist_cpu_output(session_t *session, const char *folder, text_list_t *arrays,
                          error_t *err) {
    return write_training(session->state, folder, arrays, err);
}

status_t mnist_cpu_refill(session_t *session, uint64_t seed, error_t *err) {
    (void)err;
    mnist_data_refill(((const state_t *)session->state)->training.data, seed);
    return STATUS_OK;
}

status_t mnist_cpu_fill(session_t *session, error_t *err) {
    (void)err;
    const state_t *s = session->state;
    const size_t n = s->training.data->n_weights;
    float *weights = mem_alloc(n * sizeof *weights);
    random_fill(weights, n * sizeof *weights, RANDOM_F32);
    if (s->ref != NULL)
        mnist_net_set(s->ref, weights);
    else
        memcpy(mnist_omp_weights(s->omp), weights, n * sizeof *weights);
    free(weights);
    random_fill(s->losses, s->training.sample_steps * sizeof *s->losses, RANDOM_F64);
    return STATUS_OK;
}

static status_t write_weights(const state_t *s, const char *folder, text_list_t *arrays,
                              error_t *err) {
    const size_t n = s->training.data->n_weights;
    if (s->omp != NULL)
        return mnist_write_weights(mnist_omp_weights(s->omp), n, folder, arrays, err);
    float *weights = mem_alloc(n * sizeof *weights);
    mnist_net_weights(s->ref, weights);
    const status_t status = mnist_write_weights(weights, n, folder, arrays, err);
    free(weights);
    return status;
}

/* A sample may have fewer steps than are checked, if its epoch has. */
status_t mnist_cpu_last(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    const state_t *s = session->state;
    const size_t checked = s->training.checked_steps, steps = s->training.sample_steps;
    TRY(mnist_write_losses(s->losses, checked < steps ? checked : steps, folder, arrays, err));
    return write_weights(s, folder, arrays, err);
}

/* A loss costs a third of a step with as many images, and there are three. */
static double steps_to_learn(const mnist_training_t *training) {
    return (double)training->sample_steps +
           (double)MNIST_LEARNED_IMAGES / (double)training->network.batch;
}

status_t mnist_cpu_learned(session_t *session, double most_ns, double losses[LEARNED_LOSSES],
                           error_t *err) {
    const state_t *s = session->state;
    const double ns = s->step_ns * steps_to_learn(&s->training);
    if (s->ref == NULL)
        return error_set(err, STATUS_FAILED, "only the reference tells what a sample learns");
    if (ns > most_ns)
        return error_set(err, STATUS_FAILED,
                         "the reference would take %.3g s for a sample, at most %.3g s are allowed",
                         ns / 1e9, most_ns / 1e9);
    return mnist_learned(s->ref, &s->training, most_ns, losses, err);
}
