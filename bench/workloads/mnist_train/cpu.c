/* mnist_train in C: describes its training for the session in workloads/mnist/cpu.c. */
#include "workloads/mnist/cpu.h"
#include "workloads/common/workload.h"
#include "workloads/mnist/learned.h"
#include "workloads/mnist/oracle.h"

static status_t can_run(const case_t *spec, bool is_ref, error_t *err) {
    const size_t hidden = (size_t)case_param_int(spec, "hidden", 1);
    if (!is_ref)
        TRY(mnist_cpu_width("hidden", hidden, err));
    /* For the gradients in float32 while they are written. */
    const double gradient_bytes = mnist_matrix_elements(hidden) * sizeof(float);
    return mnist_data_room(spec, mnist_net_bytes(spec) + gradient_bytes, err);
}

static status_t describe(const case_t *spec, mnist_training_t *training, error_t *err) {
    TRY(mnist_data_take(spec, &training->data, err));
    const mnist_data_t *data = training->data;
    training->network = *data;
    training->sample_steps = mnist_sample_steps(data->steps);
    training->checked_steps = mnist_checked_steps(data->hidden, data->steps);
    training->tolerance = workload_mnist_train.tolerance(spec);
    training->descent_steps = mnist_descent_steps(data->hidden, data->steps);
    return STATUS_OK;
}

static const mnist_cpu_workload_t WORKLOAD = {can_run, describe};

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    return mnist_cpu_open(session, request, &WORKLOAD, err);
}

static status_t loss(const case_t *spec, const char *folder, double *loss, error_t *err) {
    return mnist_loss(spec, &WORKLOAD, folder, loss, err);
}

const session_ops_t mnist_train_cpu = {.workload = "mnist_train",
                                       .open = open_case,
                                       .refill = mnist_cpu_refill,
                                       .fill = mnist_cpu_fill,
                                       .output = mnist_cpu_output,
                                       .last = mnist_cpu_last,
                                       .learned = mnist_cpu_learned,
                                       .loss = loss,
                                       .close = mnist_cpu_close};
