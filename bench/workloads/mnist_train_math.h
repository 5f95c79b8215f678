/* One network of mnist_train in float64, written to be obviously right: the oracle's arithmetic.
 * The start weights are those that the case's dtype rounds them to; nothing is rounded to it from
 * there on. Sums over a layer's inputs and over the batch are formed by one thread each, so results
 * do not depend on how many there are. */
#ifndef BENCH_MNIST_TRAIN_MATH_H
#define BENCH_MNIST_TRAIN_MATH_H

#include "workloads/mnist_train_data.h"

typedef struct mnist_net {
    const mnist_data_t *data;
    size_t batch; /* images of the step that runs */
    double *w[MNIST_MAX_LAYERS], *b[MNIST_MAX_LAYERS];
    double *a[MNIST_MAX_LAYERS + 1]; /* (batch, sizes[l]): inputs, behind each ReLU, logits */
    double
        *delta[MNIST_MAX_LAYERS + 1]; /* gradient of the loss by what ReLU was given; 0 is unused */
    uint8_t *labels;                  /* of the batch */
} mnist_net_t;

/* Of the weights, of activations and of their gradients. */
double mnist_net_bytes(const case_t *spec);

mnist_net_t *mnist_net_new(const mnist_data_t *data); /* weights are not set yet */
void mnist_net_free(mnist_net_t *net);
void mnist_net_start(mnist_net_t *net); /* set the start weights */

/* Step number `step`: forward, backward, w -= rate * gradient. Returns the batch's mean loss before
 * the update. `gradients`, unless it is NULL, gets what was subtracted, divided by the rate: array
 * l is (sizes[l + 1], sizes[l] + 1), with the bias's in the last column. */
double mnist_net_step(mnist_net_t *net, size_t step, double rate, float *const *gradients);

/* The mean loss over the test images; `*accuracy` as mnist_net_accuracy(). */
double mnist_net_validate(mnist_net_t *net, double *accuracy);

/* Fraction of the test images whose largest logit is their label's. */
double mnist_net_accuracy(mnist_net_t *net);

#endif
