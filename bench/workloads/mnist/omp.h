/* An MNIST network in float32 on all cores: what a careful C programmer would write for small
 * hidden layers, whose weights stay in the caches. */
#ifndef BENCH_WORKLOADS_MNIST_OMP_H
#define BENCH_WORKLOADS_MNIST_OMP_H

#include "workloads/mnist/data.h"

enum { MNIST_OMP_MAX_HIDDEN = 512 };

typedef struct mnist_omp mnist_omp_t;

mnist_omp_t *mnist_omp_new(const mnist_data_t *data);
void mnist_omp_free(mnist_omp_t *net);
void mnist_omp_start(mnist_omp_t *net); /* set the start weights */
/* All weights and biases, in the order of mnist_data_t.weights. */
float *mnist_omp_weights(mnist_omp_t *net);

/* The first `steps` steps; losses[s] is the mean loss of batch s before its update. `gradients` (or
 * NULL): those of step 0, as in mnist_net_step(). */
void mnist_omp_train(mnist_omp_t *net, size_t steps, double rate, double *losses,
                     float *const *gradients);
/* The same with the first batch in every step. */
void mnist_omp_descend(mnist_omp_t *net, size_t steps, double rate, double *losses);

double mnist_omp_validate(mnist_omp_t *net, double *accuracy); /* as mnist_net_validate() */

#endif
