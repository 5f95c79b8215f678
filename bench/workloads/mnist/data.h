/* Start data of MNIST trainings: images, start weights and the order of the images, the same bits
 * in every engine (docs/workloads.md). Cases of the same shape and seed share one
 * copy; all cases share the images. */
#ifndef BENCH_WORKLOADS_MNIST_DATA_H
#define BENCH_WORKLOADS_MNIST_DATA_H

#include "base/error.h"
#include "model/case.h"
#include "workloads/common/gpu_sample.h"
#include "workloads/common/session_parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The MNIST data set: images of 28 × 28 bytes and their digits, in four IDX files
 * (http://yann.lecun.com/exdb/mnist/), gzipped or plain; and a synthetic set of the same shape for
 * use without files. */

enum { DATASET_CLASSES = 10 };

typedef struct dataset_shape {
    size_t n_train, n_test;
    size_t rows, columns; /* of an image */
} dataset_shape_t;

/* Images are contiguous, with rows from top to bottom; labels are 0 … 9. */
typedef struct dataset {
    dataset_shape_t shape;
    uint8_t *train_images, *train_labels;
    uint8_t *test_images, *test_labels;
    bool synthetic;
} dataset_t;

/* Read the four files of `folder`: train-images-idx3-ubyte, train-labels-idx1-ubyte,
 * t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte, or the same with ".gz". A file that is missing,
 * not what its name says, not of this shape, damaged, too short or too long is an error that names
 * it, what was found and what was expected; nothing is left to free then. */
status_t dataset_read(const char *folder, const dataset_shape_t *shape, dataset_t *set,
                      error_t *err);

/* The folder to read: $MNIST_DIR if set, else the first of data/mnist and ../shared/data/mnist
 * below the project's folder, by the data folder `root`, with one of the files, else NULL, which is not a failure. The
 * caller frees it. A $MNIST_DIR without the files is an error. */
status_t dataset_find(const char *root, char **folder, error_t *err);

extern const workload_files_t mnist_files;

/* What dataset_find() finds, else the synthetic set. */
status_t dataset_load(const char *root, dataset_t *set, error_t *err);
void dataset_free(dataset_t *set);

/* The MNIST images, shared by all open cases, and their order in an epoch. */

enum {
    MNIST_IMAGES = 60000, /* for training */
    MNIST_TEST_IMAGES = 10000,
    MNIST_PIXELS = 28 * 28,
    MNIST_CLASSES = DATASET_CLASSES,
};

/* The first take reads the images and fails on invalid files. Every take needs a release; the last
 * one frees. Not thread-safe. */
status_t mnist_images_take(const dataset_t **images, error_t *err);

/* A Fisher–Yates permutation of the images with words of stream 64 + epoch, chosen by a word's high
 * bits (rng_permutation() uses the remainder). `order` has room for MNIST_IMAGES. */
void mnist_images_order(uint32_t *order, uint64_t seed, uint32_t epoch);

enum {
    MNIST_MAX_LAYERS = 16,
    MNIST_CHECKED_STEPS = 50, /* at most: steps whose losses are compared with the oracle's */
};

typedef struct mnist_data {
    shared_data_t shared;
    size_t hidden, batch, steps; /* the last two are 0 if cases that differ in them share data */
    size_t layers;
    size_t n_order; /* length of `order`; the last step may have fewer images */
    uint64_t seed;
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
size_t mnist_step_images(const mnist_data_t *data, size_t step);

/* Does free host memory have room for `more_bytes` and the data, unless an open case has them?
 * Otherwise fails with both numbers. `shape` needs no pointers, `x` or `n_weights`. */
status_t mnist_shape_room(const mnist_data_t *shape, double more_bytes, error_t *err);
/* Fails on invalid image files. Every take needs a release; the last one frees. Not thread-safe. */
status_t mnist_shape_take(mnist_data_t *shape, const mnist_data_t **data, error_t *err);
/* Give the start weights the signs of this seed, until another case that shares them gives them
 * others. */
void mnist_data_refill(const mnist_data_t *data, uint64_t seed);
void mnist_data_release(const mnist_data_t *data);

/* The images on a GPU while a case is open, in float32. */

typedef struct mnist_gpu_images {
    cu_pointer_t images; /* (n, 784) */
    cu_pointer_t labels; /* one byte each */
} mnist_gpu_images_t;

/* Copy the training or test images to the GPU and wait. */
status_t mnist_gpu_images_place(gpu_memory_t *memory, gpu_t *gpu, const mnist_data_t *data,
                                bool test, mnist_gpu_images_t *set, error_t *err);
/* For both sets. */
double mnist_gpu_images_bytes(void);

#endif
