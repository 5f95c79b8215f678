/* The argument of mnist_train's kernels, and its layout in the single block of device memory that a
 * training allocates. */
#ifndef BENCH_WORKLOADS_MNIST_TRAIN_KERNEL_ARGS_H
#define BENCH_WORKLOADS_MNIST_TRAIN_KERNEL_ARGS_H

#include "cuda/driver.h"
#include "workloads/mnist/data.h"

#include <stdbool.h>

enum {
    MNIST_PADDED_CLASSES = 16,
    MNIST_COUNTERS = 64,
    MNIST_COUNTER_STEP = 0,
    MNIST_COUNTER_CORRECT = 32,
};

/* As in kernels/mnist_train/mnist_train.cuh, which asserts the same size. */
typedef struct mnist_problem {
    cu_pointer_t images, labels, order;
    cu_pointer_t w[MNIST_LAYERS], b[MNIST_LAYERS];
    cu_pointer_t a[MNIST_LAYERS];
    cu_pointer_t delta[MNIST_LAYERS];
    cu_pointer_t logits, losses;
    cu_pointer_t gradients[MNIST_LAYERS];
    cu_pointer_t scratch, low_halves, counters;
    uint64_t seed;
    float rate;
    uint32_t steps, images_n;
} mnist_problem_t;

_Static_assert(sizeof(mnist_problem_t) == 248, "the device's layout");

/* Offsets in bytes, multiples of 256. Weights and biases come first, w[0], b[0], w[1], …, and with
 * dtype mixed their lower halves (split_weight.h) in the same order, so that one copy moves them all. */
typedef struct mnist_layout {
    size_t w[MNIST_LAYERS], b[MNIST_LAYERS];
    size_t low_halves; /* without them, equal to `parameter_bytes` */
    size_t parameter_bytes;
    size_t losses, order, counters;
    size_t a[MNIST_LAYERS], delta[MNIST_LAYERS], logits;
    size_t scratch; /* one float per parameter; without scratch, equal to `bytes` */
    size_t bytes;
} mnist_layout_t;

size_t mnist_fan_in(size_t hidden, size_t layer);
size_t mnist_fan_out(size_t hidden, size_t layer);

typedef struct mnist_extras {
    bool scratch, low_halves;
} mnist_extras_t;

mnist_layout_t mnist_layout(size_t hidden, size_t batch, size_t steps, mnist_extras_t extras);
/* Point the problem at a block with this layout; pointers to extras that it lacks are 0. */
void mnist_place(const mnist_layout_t *layout, cu_pointer_t block, mnist_problem_t *problem);

#endif
