/* The network of the MNIST oracle, written to be obviously right: float64 throughout; only inputs
 * and start weights are rounded, to float32.
 *
 * Each sum is computed by one thread, so results do not depend on the number of threads. */
#ifndef BENCH_WORKLOADS_MNIST_ORACLE_H
#define BENCH_WORKLOADS_MNIST_ORACLE_H

#include "allocators/allocator.h"
#include "base/text.h"
#include "workloads/mnist/data.h"

#include <stddef.h>

/* Matrix products in float64 for the MNIST oracle, on one thread, with the sums of a tile in
 * registers. */

/* sums (rows, columns) += left (rows, n) · right (n, columns). A `_row` is the distance between
 * rows in elements, `left_step` that between columns of `left`. */
typedef struct mnist_product {
    double *sums;
    const double *left, *right;
    size_t sums_row, left_row, left_step, right_row;
    size_t rows, columns, n;
} mnist_product_t;

/* The order of a sum's terms depends only on n. */
void mnist_multiply(const mnist_product_t *product);

/* The results of a training, for the CPU and CUDA sessions. */

/* After one epoch, on the test images. */
typedef struct mnist_epoch {
    double validation_loss, accuracy;
    bool has_memory;
    allocator_stats_t memory; /* of the epoch and its validation */
} mnist_epoch_t;

typedef struct mnist_fit {
    size_t steps, n_epochs; /* done so far */
    double *losses;         /* of each step's batch, before the update */
    double accuracy;        /* fraction of the test images; NaN: not evaluated */
    mnist_epoch_t *epochs;
} mnist_fit_t;

/* Results of `steps` steps, all NaN, for the caller to fill in. Free them with mnist_fit_free(). */
mnist_fit_t mnist_fit_new(size_t steps);
/* Room for this many steps and epochs, none of them done. */
mnist_fit_t mnist_fit_of_epochs(size_t steps, size_t epochs);
void mnist_fit_free(mnist_fit_t *fit);

/* Fails with "loss is not finite from step S on" if a loss exceeds the range of float32, also for
 * the oracle, so that a case ends the same way in all engines. */
status_t mnist_fit_check(const mnist_fit_t *fit, error_t *err);
/* Append and check the losses of `n` steps. */
status_t mnist_fit_add_floats(mnist_fit_t *fit, const float *losses, size_t n, error_t *err);
/* Append an epoch and take over its accuracy. Fails if its loss is not finite. */
status_t mnist_fit_add_epoch(mnist_fit_t *fit, const mnist_epoch_t *epoch, error_t *err);

/* {"loss": [[step, value], …], "epochs": […], "accuracy": …, "dataset": "mnist"}, with every tenth
 * step and the last, "epochs" and "accuracy" if present, and `key` unless `value` is NULL. The
 * caller frees it. */
char *mnist_fit_json(const mnist_fit_t *fit, const dataset_t *images, const char *key,
                     const char *value);

/* Write the arrays that are compared with the oracle's, and add their names: gradient_0.npy, … of
 * the first step, each (n_out, n_in + 1) with the bias in the last column; losses.npy; and a
 * descent's, the fall of the loss in `n` steps. */
status_t mnist_write_gradients(const mnist_data_t *data, float *const *gradients,
                               const char *folder, text_list_t *arrays, error_t *err);
status_t mnist_write_losses(const double *losses, size_t n, const char *folder, text_list_t *arrays,
                            error_t *err);
/* weights.npy: all weights and biases that a sample left. */
status_t mnist_write_weights(const float *weights, size_t n, const char *folder,
                             text_list_t *arrays, error_t *err);

/* Rows of matrices are `row[l]` apart: padded, because a power of two would map them to few cache
 * sets. */
typedef struct mnist_net {
    const mnist_data_t *data;
    size_t batch; /* images of the current step */
    size_t row[MNIST_MAX_LAYERS + 1];
    size_t images;               /* the batch, padded for mnist_multiply() */
    double *w[MNIST_MAX_LAYERS]; /* rows of row[l]: factors of products */
    double *b[MNIST_MAX_LAYERS];
    double *a[MNIST_MAX_LAYERS + 1];          /* (batch, sizes[l]): inputs, ReLU outputs, logits */
    double *transposed[MNIST_MAX_LAYERS + 1]; /* the same as (sizes[l], images) */
    double *delta[MNIST_MAX_LAYERS + 1];      /* (batch, sizes[l]); [0] is unused */
    uint8_t *labels;                          /* of the batch */
} mnist_net_t;

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

/* An MNIST network in float32 on all cores: what a careful C programmer would write for small
 * hidden layers, whose weights stay in the caches. */

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

double mnist_omp_validate(mnist_omp_t *net, double *accuracy); /* as mnist_net_validate() */

#endif
