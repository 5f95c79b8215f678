/* The matrix products of a training step by cuBLASLt, for rungs with `library` in their plan. The
 * rung's kernels do the rest. */
#ifndef BENCH_WORKLOADS_MNIST_TRAIN_CUBLASLT_H
#define BENCH_WORKLOADS_MNIST_TRAIN_CUBLASLT_H

#include "cuda/cublaslt.h"
#include "cuda/driver.h"
#include "workloads/mnist/data.h"

#include <stdbool.h>
#include <stdint.h>

/* The argument of mnist_train's kernels, and its layout in the single block of device memory that a
 * training allocates. */

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
 * dtype mixed their lower halves in the same order, so that one copy moves them all. */
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

/* A float32 weight as two words of 16 bits, as kernels/mnist_train/split_weight.cuh keeps it with dtype
 * mixed: its float16, which products take, and the lower half of the bits of weight · 2^-112. That
 * number has float16's exponents, subnormals included, so these bits are next to those of the float16.
 * Exact from 2^-14 on; smaller weights are multiples of 2^-37. */

uint16_t split_low_half(float weight);
float split_joined(uint16_t half, uint16_t low);

/* Of each layer l: a[l + 1] = ReLU(W a[l] + b), or logits without bias; delta[l - 1] (l > 0); dW
 * and db as fp16 in problem.scratch, laid out like the parameters. */
typedef enum mnist_part {
    MNIST_FORWARD,
    MNIST_BACKWARD_DATA,
    MNIST_BACKWARD_WEIGHTS,
    MNIST_PARTS
} mnist_part_t;

typedef struct mnist_library_product {
    cublaslt_product_t lt;
    unsigned epilogue;
} mnist_library_product_t;

typedef struct mnist_library {
    cublaslt_t lt;
    size_t hidden, batch;
    bool half_sums;     /* except for the logits, which are float32 */
    cu_pointer_t masks; /* of open ReLUs, for all layers */
    mnist_library_product_t products[MNIST_PARTS][MNIST_LAYERS];
} mnist_library_t;

size_t mnist_masks_bytes(size_t hidden, size_t batch);

/* Choose algorithms; all but lt.handle and products must be set. `problem`
 * gives the alignment of its buffers. After a failure, call mnist_library_close() too. */
status_t mnist_library_prepare(mnist_library_t *library, const mnist_problem_t *problem,
                               error_t *err);
void mnist_library_close(mnist_library_t *library);

/* Submit one product without waiting. */
status_t mnist_library_multiply(const mnist_library_t *library, mnist_part_t part, size_t layer,
                                const mnist_problem_t *problem, cu_stream_t stream, error_t *err);

/* Does the product lack the ReLU derivative or bias gradients, because this cuBLASLt has no such
 * epilogue for its shape? */
bool mnist_library_lacks(const mnist_library_t *library, mnist_part_t part, size_t layer);

#endif
