/* What every training on MNIST starts from: images, start weights and the order of the images, the
 * same bits as in every other engine (docs/worker-protocol.md, "Data"). Cases of one shape and seed
 * share one copy, all cases share the images. */
#ifndef BENCH_WORKLOADS_MNIST_DATA_H
#define BENCH_WORKLOADS_MNIST_DATA_H

#include "model/case.h"
#include "workloads/common/shared_data.h"
#include "workloads/mnist/images.h"

#include <stddef.h>
#include <stdint.h>

enum {
    MNIST_LAYERS = 4,         /* of mnist_train */
    MNIST_MAX_LAYERS = 16,    /* of any network on these images */
    MNIST_SAMPLE_STEPS = 200, /* at most, in one sample */
    MNIST_DESCENT_STEPS = 10, /* at most, in a descent */
};

/* Is everything updated, and the right way? Losses at a small rate hardly tell: over 200 steps at
 * 0.003, without any update, they stay within 0.1 %. A descent does: some steps on the first batch
 * alone at a rate of 0.25, by which the loss must fall. Of what it falls by, a layer without its
 * update costs 5 % and more, all of them 100 %, and the wrong sign 200 %; the right arithmetic in
 * another order or format stays within 0.5 %. */
#define MNIST_DESCENT_RATE 0.25

typedef struct mnist_data {
    shared_data_t shared;
    size_t hidden, batch, steps; /* the last two 0 where cases share data that differ in them */
    size_t layers;
    size_t n_order; /* numbers in `order`: a step takes what is left of them */
    uint64_t seed;
    bool f16;                           /* inputs and weights are rounded to it */
    size_t sizes[MNIST_MAX_LAYERS + 1]; /* 784, hidden, …, hidden, 10 */
    const dataset_t *images;
    float x[256]; /* the input that a pixel's byte is */
    size_t n_weights;
    float *weights;             /* all of the two below */
    float *w[MNIST_MAX_LAYERS]; /* (sizes[l + 1], sizes[l]), as torch.nn.Linear has them */
    float *b[MNIST_MAX_LAYERS]; /* sizes[l + 1] */
    uint32_t *order;            /* of the training images: whole epochs */
} mnist_data_t;

/* Fill in the sizes of layers. */
void mnist_sizes(size_t layers, size_t hidden, size_t *sizes);
/* All matrices' elements, without biases; and with them. */
double mnist_elements(size_t layers, const size_t *sizes);
double mnist_parameters(size_t layers, const size_t *sizes);
double mnist_matrix_elements(size_t hidden); /* of mnist_train */
/* Images in step number `step`. */
size_t mnist_step_images(const mnist_data_t *data, size_t step);
/* Steps of one sample. */
size_t mnist_sample_steps(size_t steps);
/* Steps whose losses are compared with the oracle's: as many as it makes in a few seconds. */
size_t mnist_checked_steps(size_t hidden, size_t steps);
/* Steps of a descent. */
size_t mnist_descent_steps(size_t hidden, size_t steps);

/* Would the data, unless another open case has them, and `more_bytes` fit into what is free of the
 * host's memory? Otherwise fails with both numbers. `shape` has all members but pointers, `x` and
 * `n_weights`. */
status_t mnist_shape_room(const mnist_data_t *shape, double more_bytes, error_t *err);
/* Fails when the files of the images are bad. Every take needs a release; the last one frees. Not
 * for several threads at once. */
status_t mnist_shape_take(mnist_data_t *shape, const mnist_data_t **data, error_t *err);
/* The same for a case of mnist_train. */
status_t mnist_data_room(const case_t *spec, double more_bytes, error_t *err);
status_t mnist_data_take(const case_t *spec, const mnist_data_t **data, error_t *err);
void mnist_data_release(const mnist_data_t *data);

#endif
