/* The results of a training, for the CPU and CUDA sessions. */
#ifndef BENCH_WORKLOADS_MNIST_FIT_H
#define BENCH_WORKLOADS_MNIST_FIT_H

#include "allocators/allocator.h"
#include "base/text.h"
#include "workloads/mnist/data.h"

enum { MNIST_LOSS_EVERY = 10 }; /* steps, in the results */

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
status_t mnist_write_descent(const char *name, const double *losses, size_t n, const char *folder,
                             text_list_t *arrays, error_t *err);

#endif
