/* The session of an MNIST training on the CPU: `ref`, the float64 oracle, and `omp` in float32. A
 * workload describes its training.
 *
 * Opening a case runs the complete training of `omp`. The oracle runs only the checked steps: its
 * training would take minutes, or hours with wide layers. */
#ifndef BENCH_WORKLOADS_MNIST_CPU_H
#define BENCH_WORKLOADS_MNIST_CPU_H

#include "engine/session.h"
#include "workloads/mnist/data.h"
#include "workloads/mnist/oracle.h"

typedef struct mnist_training {
    const mnist_data_t *data; /* the session releases it */
    mnist_data_t network;     /* the same with batch, steps and order of an epoch */
    size_t epochs;            /* a sample is the first one, and all are validated */
    size_t sample_steps, checked_steps;
    double rate;
    double tolerance; /* of the case's arrays */
} mnist_training_t;

typedef struct mnist_cpu_workload {
    /* A failure is a reason to skip the case. */
    status_t (*can_run)(const case_t *spec, bool is_ref, error_t *err);
    status_t (*describe)(const case_t *spec, mnist_training_t *training, error_t *err);
} mnist_cpu_workload_t;

/* For can_run(): fails if `width`, the parameter `name`, is too large for `omp`. */
status_t mnist_cpu_width(const char *name, size_t width, error_t *err);

status_t mnist_cpu_open(session_t *session, const open_request_t *request,
                        const mnist_cpu_workload_t *workload, error_t *err);
status_t mnist_cpu_refill(session_t *session, uint64_t seed, error_t *err);
status_t mnist_cpu_fill(session_t *session, error_t *err);
status_t mnist_cpu_last(session_t *session, const char *folder, text_list_t *arrays, error_t *err);
status_t mnist_cpu_learned(session_t *session, double most_ns, double losses[LEARNED_LOSSES],
                           error_t *err);
status_t mnist_cpu_output(session_t *session, const char *folder, text_list_t *arrays,
                          error_t *err);
void mnist_cpu_close(session_t *session);

/* How far a training has come: the mean loss on the first test images, in float64. */

/* Train a sample from the start weights; `losses` are those at the start, after half and after all
 * of its steps. Fails after `most_ns`. */
status_t mnist_learned(mnist_net_t *net, const mnist_training_t *training, double most_ns,
                       double losses[LEARNED_LOSSES], error_t *err);

/* For session_ops_t.loss. */
status_t mnist_loss(const case_t *spec, const mnist_cpu_workload_t *workload, const char *folder,
                    double *loss, error_t *err);

#endif
