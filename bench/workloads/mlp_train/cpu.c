/* mlp_train in C: `ref`, the float64 oracle that every other contender is checked against, and
 * `omp` in float32. Their arithmetic is mnist_train's, with any number of layers.
 *
 * As the case is opened, `omp` makes the whole training; the oracle's would take minutes, or hours
 * where layers are wide. It makes only the steps that are checked, and tells their losses. */
#include "base/clock.h"
#include "base/memory.h"
#include "workloads/common/descriptors.h"
#include "workloads/common/sessions.h"
#include "workloads/mlp_train/fit.h"
#include "workloads/mnist/fit.h"
#include "workloads/mnist/omp.h"
#include "workloads/mnist/oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PHASE_TRAIN, PHASE_VALIDATE, PHASE_TOTAL, PHASE_RESIDUAL, PHASE_STEP };

/* Of one epoch, of which there are several: about a minute each on two cores. */
static const double OMP_MOST_FLOPS = 1e12;

typedef struct state {
    const mlpt_data_t *data;
    mlpt_shape_t shape;
    mnist_data_t network; /* with the order of the epoch that runs */
    uint32_t *order;      /* of other epochs than the first */
    mnist_net_t *ref;     /* one of the two */
    mnist_omp_t *omp;
    double *losses; /* of an epoch */
} state_t;

static void start(state_t *s) {
    if (s->ref != NULL)
        mnist_net_start(s->ref);
    else
        mnist_omp_start(s->omp);
}

static void set_epoch(state_t *s, size_t epoch) {
    s->network.order = epoch == 0 ? s->data->order : s->order;
    if (epoch > 0)
        mnist_images_order(s->order, s->shape.seed, (uint32_t)epoch);
}

/* The first `steps` steps of the epoch that is set; the gradients of the first of them. */
static void train(state_t *s, size_t steps, double *losses, float *const *gradients) {
    if (s->omp != NULL) {
        mnist_omp_train(s->omp, steps, s->shape.rate, losses, gradients);
        return;
    }
    for (size_t step = 0; step < steps; step++)
        losses[step] = mnist_net_step(s->ref, step, s->shape.rate, step == 0 ? gradients : NULL);
}

/* From the start weights, through as many epochs as it takes. */
static void train_first(state_t *s, size_t steps, double *losses, float *const *gradients) {
    start(s);
    for (size_t done = 0, epoch = 0; done < steps; epoch++) {
        const size_t left = steps - done, n = left < s->shape.steps ? left : s->shape.steps;
        set_epoch(s, epoch);
        train(s, n, losses + done, epoch == 0 ? gradients : NULL);
        done += n;
    }
    set_epoch(s, 0);
}

static mlpt_epoch_t validate(state_t *s) {
    mlpt_epoch_t epoch = {.has_memory = false};
    epoch.validation_loss = s->ref != NULL ? mnist_net_validate(s->ref, &epoch.accuracy)
                                           : mnist_omp_validate(s->omp, &epoch.accuracy);
    return epoch;
}

static status_t probe(session_t *session, recorder_t *recorder, error_t *err) {
    (void)err;
    state_t *s = session->state;
    start(s);
    const int64_t start_ns = clock_ns();
    train(s, s->shape.steps, s->losses, NULL);
    const int64_t trained_ns = clock_ns();
    validate(s);
    const int64_t end_ns = clock_ns();
    const double train_ns = (double)(trained_ns - start_ns);
    recorder_add_between(recorder, PHASE_TRAIN, train_ns, start_ns, trained_ns);
    recorder_add_between(recorder, PHASE_VALIDATE, (double)(end_ns - trained_ns), trained_ns,
                         end_ns);
    recorder_add_between(recorder, PHASE_TOTAL, (double)(end_ns - start_ns), start_ns, end_ns);
    recorder_add(recorder, PHASE_RESIDUAL, 0);
    recorder_add(recorder, PHASE_STEP, train_ns / (double)s->shape.steps);
    return STATUS_OK;
}

static void close_case(session_t *session) {
    state_t *s = session->state;
    if (s->ref != NULL)
        mnist_net_free(s->ref);
    if (s->omp != NULL)
        mnist_omp_free(s->omp);
    mlpt_data_release(s->data);
    free(s->order);
    free(s->losses);
    free(s);
}

/* Weights, activations and their gradients, in twice the room: either way of storing them fits. */
static double network_bytes(const mlpt_shape_t *shape) {
    double units = 0;
    for (size_t l = 0; l <= shape->layers; l++)
        units += (double)shape->sizes[l];
    return 2 * sizeof(double) * (mlpt_parameters(shape) + 2 * (double)shape->batch * units);
}

/* Reasons to skip the case; the oracle takes all. */
static status_t can_run(const case_t *spec, bool is_ref, error_t *err) {
    const mlpt_shape_t shape = mlpt_shape(spec);
    const double flops = workload_mlp_train.cost(spec).flops;
    if (!is_ref && strcmp(spec->dtype, "f32") != 0)
        return error_set(err, STATUS_FAILED, "dtype %s: only f32 is written for %s", spec->dtype,
                         spec->variant);
    if (!is_ref && shape.sizes[1] > MNIST_OMP_MAX_HIDDEN)
        return error_set(err, STATUS_FAILED, "width %zu: %s is written for at most %d",
                         shape.sizes[1], spec->variant, MNIST_OMP_MAX_HIDDEN);
    if (!is_ref && flops > OMP_MOST_FLOPS)
        return error_set(err, STATUS_FAILED,
                         "an epoch of %.3g floating-point operations would take %s minutes", flops,
                         spec->variant);
    return mlpt_data_room(spec, network_bytes(&shape) + sizeof(float) * mlpt_parameters(&shape),
                          err);
}

static status_t train_epochs(state_t *s, mlpt_fit_t *fit, error_t *err) {
    start(s);
    for (size_t epoch = 0; epoch < s->shape.epochs; epoch++) {
        set_epoch(s, epoch);
        train(s, s->shape.steps, s->losses, NULL);
        TRY(mlpt_fit_add(fit, s->losses, s->shape.steps, err));
        const mlpt_epoch_t after = validate(s);
        TRY(mlpt_fit_add_epoch(fit, &after, err));
    }
    set_epoch(s, 0);
    return STATUS_OK;
}

static status_t train_checked(state_t *s, mlpt_fit_t *fit, error_t *err) {
    const size_t steps = mlpt_checked_steps(&s->shape);
    double *losses = mem_zeroed(steps, sizeof *losses);
    train_first(s, steps, losses, NULL);
    status_t status = mlpt_fit_add(fit, losses, steps, err);
    free(losses);
    return status;
}

/* Train as far as this variant does, once; tell what came of it. */
static status_t train_once(session_t *session, error_t *err) {
    state_t *s = session->state;
    const size_t steps = s->shape.steps * s->shape.epochs;
    const bool whole = s->omp != NULL || mlpt_checked_steps(&s->shape) == steps;
    mlpt_fit_t fit = mlpt_fit_new(steps, s->shape.epochs);
    const int64_t start_ns = clock_ns();
    status_t status = whole ? train_epochs(s, &fit, err) : train_checked(s, &fit, err);
    session_add_once(session, whole ? "training" : "first_run", (double)(clock_ns() - start_ns));
    if (status == STATUS_OK)
        session->results_json = mlpt_fit_json(&fit, s->data->images, NULL);
    mlpt_fit_free(&fit);
    return status;
}

static state_t *new_state(const case_t *spec, const mlpt_data_t *data, bool is_ref) {
    state_t *s = mem_zeroed(1, sizeof *s);
    s->data = data;
    s->shape = mlpt_shape(spec);
    s->network = mlpt_network(data, &s->shape);
    s->order = mem_alloc(MNIST_IMAGES * sizeof *s->order);
    s->losses = mem_zeroed(s->shape.steps, sizeof *s->losses);
    if (is_ref)
        s->ref = mnist_net_new(&s->network);
    else
        s->omp = mnist_omp_new(&s->network);
    return s;
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    static const char *const PHASES[] = {"train", "validate", "total", "residual", "step"};
    const case_t *spec = request->spec;
    const bool is_ref = strcmp(spec->variant, "ref") == 0;
    if (!is_ref && strcmp(spec->variant, "omp") != 0)
        return error_set(err, STATUS_FAILED, "no variant \"%s\" (known: ref, omp)", spec->variant);
    session->skipped = true;
    TRY(can_run(spec, is_ref, err));
    session->skipped = false;
    const mlpt_data_t *data;
    const int64_t start_ns = clock_ns();
    TRY(mlpt_data_take(spec, &data, err));
    session_add_once(session, "data", (double)(clock_ns() - start_ns));
    session->state = new_state(spec, data, is_ref);
    if (train_once(session, err) != STATUS_OK) {
        close_case(session);
        return err->status;
    }
    for (size_t i = 0; i < sizeof PHASES / sizeof *PHASES; i++)
        recorder_phase(&session->recorder, PHASES[i], CLOCK_HOST);
    session_add_probe(session, "epoch", probe);
    return STATUS_OK;
}

static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    state_t *s = session->state;
    float *gradients[MLPT_MAX_LAYERS];
    const size_t checked = mlpt_checked_steps(&s->shape);
    double *losses = mem_zeroed(checked, sizeof *losses);
    for (size_t l = 0; l < s->shape.layers; l++) {
        const size_t n = (s->shape.sizes[l] + 1) * s->shape.sizes[l + 1];
        gradients[l] = mem_alloc(n * sizeof(float));
        memset(gradients[l], 0xFF, n * sizeof(float)); /* NaN */
    }
    train_first(s, checked, losses, gradients);
    status_t status = mnist_write_gradients(&s->network, gradients, folder, arrays, err);
    if (status == STATUS_OK)
        status = mnist_write_losses(losses, checked, folder, arrays, err);
    for (size_t l = 0; l < s->shape.layers; l++)
        free(gradients[l]);
    free(losses);
    return status;
}

const session_ops_t mlp_train_cpu = {
    .workload = "mlp_train", .open = open_case, .output = output, .close = close_case};
