/* The MNIST images, shared by all open cases, and their order in an epoch. */
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

/* The first take reads the images and fails on invalid files. Every take needs a release; the last
 * one frees. Not thread-safe. */
status_t mnist_images_take(const dataset_t **images, error_t *err);
void mnist_images_release(void);
/* Does any open case use the images? */
bool mnist_images_held(void);

/* A Fisher–Yates permutation of the images with words of stream 64 + epoch, chosen by a word's high
 * bits (rng_permutation() uses the remainder). `order` has room for MNIST_IMAGES. */
void mnist_images_order(uint32_t *order, uint64_t seed, uint32_t epoch);

#endif
