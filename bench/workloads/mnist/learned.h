/* How far a training has come: the mean loss on the first test images, in float64. */
#ifndef BENCH_WORKLOADS_MNIST_LEARNED_H
#define BENCH_WORKLOADS_MNIST_LEARNED_H

#include "workloads/mnist/cpu.h"
#include "workloads/mnist/oracle.h"

enum { MNIST_LEARNED_IMAGES = 2000 };

/* Train a sample from the start weights; `losses` are those at the start, after half and after all
 * of its steps. Fails after `most_ns`. */
status_t mnist_learned(mnist_net_t *net, const mnist_training_t *training, double most_ns,
                       double losses[LEARNED_LOSSES], error_t *err);

/* For session_ops_t.loss. */
status_t mnist_loss(const case_t *spec, const mnist_cpu_workload_t *workload, const char *folder,
                    double *loss, error_t *err);

#endif
