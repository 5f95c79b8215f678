/* One network of mnist_train, written to be obviously right: the oracle's arithmetic, which is
 * float64 sums over the stored fp16 values. What the dtype f16 makes every contender store as
 * float16 is rounded to it here, too: inputs, weights after each update, activations behind the
 * ReLU, and deltas, which are the gradients of the batch's summed loss by what the ReLUs were
 * given. Unrounded, ReLUs would be open here that are closed in all contenders, and whole paths of
 * the gradient would be in one and not in the other: from hidden = 256 on up to 3 % of it. With
 * dtype f32 inputs and start weights are rounded to float32, and nothing else.
 *
 * Each sum is formed by one thread, so results do not depend on how many there are. */
#ifndef BENCH_WORKLOADS_MNIST_ORACLE_H
#define BENCH_WORKLOADS_MNIST_ORACLE_H

#include "workloads/mnist/data.h"

/* Matrices whose rows are `row[l]` apart: a little more than their length, because rows a power of
 * two apart would share few places of a cache. */
typedef struct mnist_net {
    const mnist_data_t *data;
    size_t batch; /* images of the step that runs */
    size_t row[MNIST_MAX_LAYERS + 1];
    size_t images;               /* the batch, filled up for mnist_multiply() */
    double *w[MNIST_MAX_LAYERS]; /* rows of row[l] */
    double *b[MNIST_MAX_LAYERS];
    double *a[MNIST_MAX_LAYERS + 1]; /* (batch, sizes[l]): inputs, behind each ReLU, logits */
    double *transposed[MNIST_MAX_LAYERS + 1]; /* the same as (sizes[l], images) */
    double *delta[MNIST_MAX_LAYERS + 1]; /* (batch, sizes[l]): the gradient of the batch's summed
                                        loss by what the ReLU was given; 0 is unused */
    uint8_t *labels;                     /* of the batch */
} mnist_net_t;

/* Of the weights, of activations and of their gradients. */
double mnist_net_bytes(const case_t *spec);

mnist_net_t *mnist_net_new(const mnist_data_t *data); /* weights are not set yet */
void mnist_net_free(mnist_net_t *net);
void mnist_net_start(mnist_net_t *net); /* set the start weights */

/* A step with the images of step number `step`: forward, backward, w -= rate * gradient. Returns
 * the batch's mean loss before the update. `gradients`, unless it is NULL, gets what was
 * subtracted, divided by the rate: array l is (sizes[l + 1], sizes[l] + 1), with the bias's in the
 * last column. */
double mnist_net_step(mnist_net_t *net, size_t step, double rate, float *const *gradients);

/* The mean loss over the test images; `*accuracy`: the fraction whose largest logit is their
 * label's. */
double mnist_net_validate(mnist_net_t *net, double *accuracy);

/* The same for any network: logits_of() fills `logits` for test images from `first` on. */
typedef void mnist_logits_t(void *net, size_t first, size_t images, double *logits);
double mnist_validate(const mnist_data_t *data, mnist_logits_t *logits_of, void *net,
                      double *accuracy);

#endif
