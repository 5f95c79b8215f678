/* What every mlp_train training starts from: shape, images and start weights, the same bits as in
 * every other engine (docs/worker-protocol.md, "Data"). Cases of one width, depth and seed share
 * one copy of the weights, all cases share the images. */
#ifndef BENCH_WORKLOADS_MLP_TRAIN_DATA_H
#define BENCH_WORKLOADS_MLP_TRAIN_DATA_H

#include "workloads/mnist/data.h"

enum {
    MLPT_MAX_LAYERS = MNIST_MAX_LAYERS,
    MLPT_MAX_CHECKED_STEPS = 50,
};

typedef struct mlpt_shape {
    size_t layers;                     /* depth: matrices */
    size_t sizes[MLPT_MAX_LAYERS + 1]; /* 784, width, …, width, 10 */
    size_t batch, epochs;
    size_t steps; /* of one epoch; the last one has the rest of the images */
    uint64_t seed;
    double rate;
} mlpt_shape_t;

mlpt_shape_t mlpt_shape(const case_t *spec);
/* Images in step `step` of an epoch. */
size_t mlpt_rows(const mlpt_shape_t *shape, size_t step);
/* All matrices' elements, without biases; and with them. */
double mlpt_matrix_elements(const mlpt_shape_t *shape);
double mlpt_parameters(const mlpt_shape_t *shape);
/* Steps from the start whose losses are compared with the oracle's: as many as it makes in a few
 * seconds. They may reach into further epochs. */
size_t mlpt_checked_steps(const mlpt_shape_t *shape);

typedef struct mlpt_data {
    shared_data_t shared;
    mlpt_shape_t shape; /* of the case that came first: batch, epochs and rate are not for all */
    const dataset_t *images;
    float x[256]; /* the input that a pixel's byte is */
    size_t n_weights;
    float *weights;            /* all of the two below */
    float *w[MLPT_MAX_LAYERS]; /* (sizes[l + 1], sizes[l]), as torch.nn.Linear has them */
    float *b[MLPT_MAX_LAYERS]; /* sizes[l + 1] */
    uint32_t *order;           /* of the images in the first epoch */
} mlpt_data_t;

/* Would the data, unless another open case has them, and `more_bytes` fit into what is free of the
 * host's memory? Otherwise fails with both numbers. */
status_t mlpt_data_room(const case_t *spec, double more_bytes, error_t *err);

/* Fails when the files of the images are bad. Every take needs a release; the last one frees. Not
 * for several threads at once. */
status_t mlpt_data_take(const case_t *spec, const mlpt_data_t **data, error_t *err);
void mlpt_data_release(const mlpt_data_t *data);

/* The same as mnist_train's arithmetic and files take it: one epoch, with the first one's order. */
mnist_data_t mlpt_network(const mlpt_data_t *data, const mlpt_shape_t *shape);

#endif
