/* mlp_train in C: describes its training for the session in workloads/mnist/cpu.c. The arithmetic
 * is that of mnist_train, with any number of layers. */
#include "workloads/mnist/cpu.h"
#include "workloads/common/workload.h"
#include "workloads/mlp_train/data.h"
#include "workloads/mnist/learned.h"

/* Per epoch: about a minute on two cores. */
static const double OMP_MAX_FLOPS = 1e12;

/* Weights, activations and their gradients, doubled: room for either variant's storage. */
static double network_bytes(const mlpt_shape_t *shape) {
    double units = 0;
    for (size_t l = 0; l <= shape->layers; l++)
        units += (double)shape->sizes[l];
    return 2 * sizeof(double) * (mlpt_parameters(shape) + 2 * (double)shape->batch * units);
}

static status_t can_run(const case_t *spec, bool is_ref, error_t *err) {
    const mlpt_shape_t shape = mlpt_shape(spec);
    const double flops = workload_mlp_train.cost(spec).flops;
    if (!is_ref)
        TRY(mnist_cpu_width("width", shape.sizes[1], err));
    if (!is_ref && flops > OMP_MAX_FLOPS)
        return error_set(err, STATUS_FAILED,
                         "too slow for %s: an epoch has %.3g floating-point operations",
                         spec->variant, flops);
    return mlpt_data_room(spec, network_bytes(&shape) + sizeof(float) * mlpt_parameters(&shape),
                          err);
}

static status_t describe(const case_t *spec, mnist_training_t *training, error_t *err) {
    const mlpt_shape_t shape = mlpt_shape(spec);
    TRY(mlpt_data_take(spec, &training->data, err));
    training->network = mlpt_network(training->data, &shape);
    training->epochs = shape.epochs;
    training->sample_steps = shape.steps;
    training->tolerance = workload_mlp_train.tolerance(spec);
    training->checked_steps = mlpt_checked_steps(&shape);
    return STATUS_OK;
}

static const mnist_cpu_workload_t WORKLOAD = {can_run, describe};

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    return mnist_cpu_open(session, request, &WORKLOAD, err);
}

static status_t loss(const case_t *spec, const char *folder, double *loss, error_t *err) {
    return mnist_loss(spec, &WORKLOAD, folder, loss, err);
}

const session_ops_t mlp_train_cpu = {.workload = "mlp_train",
                                     .open = open_case,
                                     .refill = mnist_cpu_refill,
                                     .fill = mnist_cpu_fill,
                                     .output = mnist_cpu_output,
                                     .last = mnist_cpu_last,
                                     .learned = mnist_cpu_learned,
                                     .loss = loss,
                                     .close = mnist_cpu_close};
