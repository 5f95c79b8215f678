/* What all trainings on MNIST share, whatever their network is: the images, which all open cases
 * have in common, the order in which an epoch goes through them, and how start weights are drawn.
 */
#ifndef BENCH_WORKLOADS_MNIST_IMAGES_H
#define BENCH_WORKLOADS_MNIST_IMAGES_H

#include "workloads/mnist/idx.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MNIST_IMAGES = 60000, /* for training */
    MNIST_TEST_IMAGES = 10000,
    MNIST_PIXELS = 28 * 28,
    MNIST_CLASSES = DATASET_CLASSES,
};

/* Read with the first case that is open, freed with the last. Fails when the files are bad. Every
 * take needs a release. Not for several threads at once. */
status_t mnist_images_take(const dataset_t **images, error_t *err);
void mnist_images_release(void);
/* Does any open case have them? */
bool mnist_images_held(void);

/* A permutation of the images by Fisher–Yates with words of stream 64 + epoch; a word's high bits
 * choose, where rng_permutation() takes a remainder. `order` has room for MNIST_IMAGES. */
void mnist_images_order(uint32_t *order, uint64_t seed, uint32_t epoch);

/* Start weights of layer `layer` with `in` inputs and `out` outputs: w from stream 16 + 2 * layer,
 * b from the next, uniform in torch.nn.Linear's own range, ±1/√in; rounded to half with `f16`. */
void mnist_start_layer(float *w, float *b, size_t in, size_t out, uint64_t seed, uint32_t layer,
                       bool f16);

#endif
