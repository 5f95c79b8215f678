/* The session of a training on MNIST on the CPU: `ref`, the float64 oracle that every other
 * contender is checked against, and `omp` in float32. A workload says what its training is.
 *
 * As the case is opened, `omp` makes the whole training; the oracle's would take minutes, or hours
 * where layers are wide. It makes only the steps that are checked, and tells their losses. */
#ifndef BENCH_WORKLOADS_MNIST_CPU_H
#define BENCH_WORKLOADS_MNIST_CPU_H

#include "engine/session.h"
#include "workloads/mnist/data.h"

typedef struct mnist_training {
    const mnist_data_t *data; /* taken; the session releases it */
    mnist_data_t network;     /* the same with batch and steps of an epoch, and its order */
    size_t epochs; /* a sample is the first of them, and all are validated; 0: one, of which a
                      sample is the first steps, and only its end is validated */
    size_t sample_steps, checked_steps, descent_steps;
    double rate;
} mnist_training_t;

typedef struct mnist_cpu_workload {
    /* Reasons to skip the case; the oracle takes all. */
    status_t (*can_run)(const case_t *spec, bool is_ref, error_t *err);
    status_t (*describe)(const case_t *spec, mnist_training_t *training, error_t *err);
} mnist_cpu_workload_t;

/* One of these reasons: `width`, the parameter `name`, is too large for `omp`. */
status_t mnist_cpu_width(const char *name, size_t width, error_t *err);

status_t mnist_cpu_open(session_t *session, const open_request_t *request,
                        const mnist_cpu_workload_t *workload, error_t *err);
status_t mnist_cpu_output(session_t *session, const char *folder, text_list_t *arrays,
                          error_t *err);
void mnist_cpu_close(session_t *session);

#endif
