/* The MNIST data set: images of 28 × 28 bytes and their digits, in four IDX files
 * (http://yann.lecun.com/exdb/mnist/), gzipped or plain; and a synthetic set of the same shape for
 * use without files. */
#ifndef BENCH_WORKLOADS_MNIST_IDX_H
#define BENCH_WORKLOADS_MNIST_IDX_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DATASET_CLASSES = 10 };

typedef struct dataset_shape {
    size_t n_train, n_test;
    size_t rows, columns; /* of an image */
} dataset_shape_t;

extern const dataset_shape_t DATASET_MNIST; /* 60000 and 10000 images of 28 × 28 */

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

/* Images from Philox in the shape of DATASET_MNIST: a pattern of bright pixels per class, plus
 * noise. The bytes are the same in every language (docs/workloads.md). */
void dataset_make(dataset_t *set);

/* What dataset_find() finds, else the synthetic set. */
status_t dataset_load(const char *root, dataset_t *set, error_t *err);
void dataset_free(dataset_t *set);

#endif
