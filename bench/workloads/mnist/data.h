/* Start data of MNIST trainings: images, start weights and the order of the images, the same bits
 * in every engine (docs/workloads.md). Cases of the same shape and seed share one
 * copy; all cases share the images. */
#ifndef BENCH_WORKLOADS_MNIST_DATA_H
#define BENCH_WORKLOADS_MNIST_DATA_H

#include "model/case.h"
#include "workloads/common/session_parts.h"
#include "workloads/mnist/images.h"

#include <stddef.h>
#include <stdint.h>

enum {
    MNIST_LAYERS = 4, /* of mnist_train */
    MNIST_MAX_LAYERS = 16,
    MNIST_SAMPLE_STEPS = 200, /* maximum per sample */
    MNIST_DESCENT_STEPS = 10, /* maximum per descent */
};

/* A descent checks the updates: a few steps on the first batch at a rate of 0.25, in which the loss
 * must fall. A layer without its update changes this fall by at least 5 %, all layers by 100 %, and
 * the wrong sign by 200 %; correct arithmetic in another order or format stays within 0.5 %. Losses
 * at a small rate do not show it: 200 steps at 0.003 without any update stay within 0.1 %.
 *
 * With dtype mixed there is another, at a small rate, at which float16 weights would round many updates
 * away: its fall is then off by 12 % with 64 hidden units and 45 % with 1024, and by up to 0.7 % with
 * logits in float16, which autocast computes (docs/mnist-train.md). */
typedef struct mnist_descent {
    const char *name; /* of its output */
    double rate;
} mnist_descent_t;

typedef struct mnist_data {
    shared_data_t shared;
    size_t hidden, batch, steps; /* the last two are 0 if cases that differ in them share data */
    size_t layers;
    size_t n_order; /* length of `order`; the last step may have fewer images */
    uint64_t seed;
    bool f16;         /* round inputs, activations and factors of products to f16 */
    bool f16_weights; /* round weights, too; with `f16` alone, their float32 is kept and updated */
    size_t sizes[MNIST_MAX_LAYERS + 1]; /* 784, hidden, …, hidden, 10 */
    const dataset_t *images;
    float x[256]; /* input value of each pixel byte */
    size_t n_weights;
    float *weights;             /* w and b of all layers */
    float *w[MNIST_MAX_LAYERS]; /* (sizes[l + 1], sizes[l]), as in torch.nn.Linear */
    float *b[MNIST_MAX_LAYERS]; /* sizes[l + 1] */
    uint32_t *order;            /* of the training images, whole epochs */
} mnist_data_t;

void mnist_sizes(size_t layers, size_t hidden, size_t *sizes);
/* Elements of all matrices, without and with biases. */
double mnist_elements(size_t layers, const size_t *sizes);
double mnist_parameters(size_t layers, const size_t *sizes);
double mnist_matrix_elements(size_t hidden); /* of mnist_train */
size_t mnist_step_images(const mnist_data_t *data, size_t step);
size_t mnist_sample_steps(size_t steps);
/* Steps whose losses are compared with the oracle's: as many as it computes in a few seconds. */
size_t mnist_checked_steps(size_t hidden, size_t steps);
size_t mnist_descent_steps(size_t hidden, size_t steps);
/* Those that are checked; `*n` gets their number. */
const mnist_descent_t *mnist_descents(const mnist_data_t *data, size_t *n);

/* Does free host memory have room for `more_bytes` and the data, unless an open case has them?
 * Otherwise fails with both numbers. `shape` needs no pointers, `x` or `n_weights`. */
status_t mnist_shape_room(const mnist_data_t *shape, double more_bytes, error_t *err);
/* Fails on invalid image files. Every take needs a release; the last one frees. Not thread-safe. */
status_t mnist_shape_take(mnist_data_t *shape, const mnist_data_t **data, error_t *err);
/* The same for a case of mnist_train. */
status_t mnist_data_room(const case_t *spec, double more_bytes, error_t *err);
status_t mnist_data_take(const case_t *spec, const mnist_data_t **data, error_t *err);
/* Give the start weights the signs of this seed, until another case that shares them gives them
 * others. */
void mnist_data_refill(const mnist_data_t *data, uint64_t seed);
void mnist_data_release(const mnist_data_t *data);

#endif
