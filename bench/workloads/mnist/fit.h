/* What a mnist_train training leaves, whatever ran it: shared by the CPU and CUDA sessions. */
#ifndef BENCH_WORKLOADS_MNIST_FIT_H
#define BENCH_WORKLOADS_MNIST_FIT_H

#include "base/text.h"
#include "workloads/mnist/data.h"

enum { MNIST_LOSS_EVERY = 10 }; /* steps, in the results */

typedef struct mnist_fit {
    size_t steps;
    double *losses;  /* of each step's batch, before the update */
    double accuracy; /* fraction of the test images; NaN: not evaluated */
} mnist_fit_t;

/* All values NaN; free it with mnist_fit_free(). */
mnist_fit_t mnist_fit_new(size_t steps);
void mnist_fit_free(mnist_fit_t *fit);

/* Fails with "loss is not finite from step S on" when a loss is no finite float32: also where only
 * the oracle's range still holds it, so that one case ends alike in all engines. */
status_t mnist_fit_check(const mnist_fit_t *fit, error_t *err);

/* {"loss":[[step,value],…],"accuracy":…,"dataset":"mnist","accumulate":"f32"}, with every tenth
 * step and the last one; no "accuracy" where it is NaN. The caller frees it. */
char *mnist_fit_json(const mnist_fit_t *fit, const dataset_t *images, const char *accumulate);

/* The arrays that are compared with the oracle's: gradient_0.npy … gradient_3.npy of the first
 * step, each (n_out, n_in + 1) with the bias's in the last column; losses.npy; and descent.npy, by
 * how much the loss fell in a descent of `n` steps with these losses. They add the names. */
status_t mnist_write_gradients(const mnist_data_t *data, float *const *gradients,
                               const char *folder, text_list_t *arrays, error_t *err);
status_t mnist_write_losses(const double *losses, size_t n, const char *folder, text_list_t *arrays,
                            error_t *err);
status_t mnist_write_descent(const double *losses, size_t n, const char *folder,
                             text_list_t *arrays, error_t *err);

#endif
