/* The shape and start data of an mlp_train case. Cases of the same width, depth and seed share one
 * copy. */
#ifndef BENCH_WORKLOADS_MLP_TRAIN_DATA_H
#define BENCH_WORKLOADS_MLP_TRAIN_DATA_H

#include "workloads/mnist/data.h"

enum {
    MLPT_MAX_LAYERS = MNIST_MAX_LAYERS,
    MLPT_MAX_CHECKED_STEPS = MNIST_CHECKED_STEPS,
};

typedef struct mlpt_shape {
    size_t layers;                     /* depth: matrices */
    size_t sizes[MLPT_MAX_LAYERS + 1]; /* 784, width, …, width, 10 */
    size_t batch, epochs;
    size_t steps; /* per epoch; the last one has the remaining images */
    uint64_t seed;
    double rate;
} mlpt_shape_t;

mlpt_shape_t mlpt_shape(const case_t *spec);
/* Images in step `step` of an epoch. */
size_t mlpt_rows(const mlpt_shape_t *shape, size_t step);
double mlpt_parameters(const mlpt_shape_t *shape); /* elements of matrices and biases */
/* Number of first steps whose losses are compared with the oracle's: as many as it computes in a
 * few seconds, possibly over several epochs. */
size_t mlpt_checked_steps(const mlpt_shape_t *shape);

/* mnist_shape_room() and mnist_shape_take() for a case. */
status_t mlpt_data_room(const case_t *spec, double more_bytes, error_t *err);
status_t mlpt_data_take(const case_t *spec, const mnist_data_t **data, error_t *err);

#endif
