/* The network of the MNIST oracle, written to be obviously right: float64 sums over stored fp16
 * values. With dtype f16, the values that contenders store as float16 are rounded here too: inputs,
 * weights after each update, ReLU outputs, and deltas (the gradients of the batch's summed loss by
 * the ReLU inputs). Without this rounding some ReLUs would be open here and closed in all
 * contenders, which would change up to 3 % of the gradient from hidden = 256 on. With dtype mixed the
 * products and sums take the weights and biases rounded to fp16; the weights themselves stay float64,
 * and only their start values are rounded, to float32. With dtype f32 only inputs and start weights
 * are rounded, to float32.
 *
 * Each sum is computed by one thread, so results do not depend on the number of threads. */
#ifndef BENCH_WORKLOADS_MNIST_ORACLE_H
#define BENCH_WORKLOADS_MNIST_ORACLE_H

#include "workloads/mnist/data.h"

/* Rows of matrices are `row[l]` apart: padded, because a power of two would map them to few cache
 * sets. */
typedef struct mnist_net {
    const mnist_data_t *data;
    size_t batch; /* images of the current step */
    size_t row[MNIST_MAX_LAYERS + 1];
    size_t images;               /* the batch, padded for mnist_multiply() */
    double *w[MNIST_MAX_LAYERS]; /* rows of row[l]: factors of products */
    double *b[MNIST_MAX_LAYERS];
    /* What is updated: with dtype mixed unrounded, otherwise the same arrays. */
    double *kept_w[MNIST_MAX_LAYERS], *kept_b[MNIST_MAX_LAYERS];
    double *a[MNIST_MAX_LAYERS + 1];          /* (batch, sizes[l]): inputs, ReLU outputs, logits */
    double *transposed[MNIST_MAX_LAYERS + 1]; /* the same as (sizes[l], images) */
    double *delta[MNIST_MAX_LAYERS + 1];      /* (batch, sizes[l]); [0] is unused */
    uint8_t *labels;                          /* of the batch */
} mnist_net_t;

/* Bytes of weights, activations and their gradients. */
double mnist_net_bytes(const case_t *spec);

mnist_net_t *mnist_net_new(const mnist_data_t *data); /* weights are not set yet */
void mnist_net_free(mnist_net_t *net);
void mnist_net_start(mnist_net_t *net); /* set the start weights */
/* Set, or copy, all weights and biases, in the order of mnist_data_t.weights. */
void mnist_net_set(mnist_net_t *net, const float *weights);
void mnist_net_weights(const mnist_net_t *net, float *weights);

/* Step number `step`: forward, backward, w -= rate * gradient. Returns the batch's mean loss before
 * the update. `gradients`, unless NULL, gets the gradients: array l is (sizes[l + 1], sizes[l] + 1)
 * with the bias in the last column. */
double mnist_net_step(mnist_net_t *net, size_t step, double rate, float *const *gradients);

/* The mean loss over the test images; `*accuracy` gets the fraction classified correctly. */
double mnist_net_validate(mnist_net_t *net, double *accuracy);
/* The mean loss over the first `images` of them. */
double mnist_net_loss(mnist_net_t *net, size_t images);

/* The same for any network: logits_of() computes `logits` of test images from `first` on. */
typedef void mnist_logits_t(void *net, size_t first, size_t images, double *logits);
double mnist_validate(const mnist_data_t *data, mnist_logits_t *logits_of, void *net, size_t images,
                      double *accuracy);

#endif
