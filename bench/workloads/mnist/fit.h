/* What a training leaves, whatever ran it: shared by the CPU and CUDA sessions. */
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
    size_t steps, n_epochs; /* that were made */
    double *losses;         /* of each step's batch, before the update */
    double accuracy;        /* fraction of the test images; NaN: not evaluated */
    mnist_epoch_t *epochs;
} mnist_fit_t;

/* Of so many steps, whose losses the caller fills in: all values NaN. Free it with
 * mnist_fit_free().
 */
mnist_fit_t mnist_fit_new(size_t steps);
/* Room for so many, of which none is made yet. */
mnist_fit_t mnist_fit_of_epochs(size_t steps, size_t epochs);
void mnist_fit_free(mnist_fit_t *fit);

/* Fails with "loss is not finite from step S on" when a loss is no finite float32: also where only
 * the oracle's range still holds it, so that one case ends alike in all engines. */
status_t mnist_fit_check(const mnist_fit_t *fit, error_t *err);
/* Append the losses of some steps, and check them. */
status_t mnist_fit_add(mnist_fit_t *fit, const double *losses, size_t n, error_t *err);
status_t mnist_fit_add_floats(mnist_fit_t *fit, const float *losses, size_t n, error_t *err);
/* Append an epoch, whose accuracy is now the fit's. Fails when its loss is not finite. */
status_t mnist_fit_add_epoch(mnist_fit_t *fit, const mnist_epoch_t *epoch, error_t *err);

/* {"loss": [[step, value], …], "epochs": […], "accuracy": …, "dataset": "mnist"}, with every tenth
 * step and the last one, "epochs" and "accuracy" where there are any; and, unless `value` is NULL,
 * `key` with it. The caller frees it. */
char *mnist_fit_json(const mnist_fit_t *fit, const dataset_t *images, const char *key,
                     const char *value);

/* The arrays that are compared with the oracle's: gradient_0.npy, … of the first
 * step, each (n_out, n_in + 1) with the bias's in the last column; losses.npy; and descent.npy, by
 * how much the loss fell in a descent of `n` steps with these losses. They add the names. */
status_t mnist_write_gradients(const mnist_data_t *data, float *const *gradients,
                               const char *folder, text_list_t *arrays, error_t *err);
status_t mnist_write_losses(const double *losses, size_t n, const char *folder, text_list_t *arrays,
                            error_t *err);
status_t mnist_write_descent(const double *losses, size_t n, const char *folder,
                             text_list_t *arrays, error_t *err);

#endif
