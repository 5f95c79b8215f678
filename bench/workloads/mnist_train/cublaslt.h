/* The matrix products of a training step by cuBLASLt, for rungs with `library` in their plan. The
 * rung's kernels do the rest. */
#ifndef BENCH_WORKLOADS_MNIST_TRAIN_CUBLASLT_H
#define BENCH_WORKLOADS_MNIST_TRAIN_CUBLASLT_H

#include "cuda/cublaslt.h"
#include "workloads/mnist_train/kernel_args.h"

/* Of each layer l: a[l + 1] = ReLU(W a[l] + b), or logits without bias; delta[l - 1] (l > 0); dW
 * and db as fp16 in problem.scratch, laid out like the parameters. */
typedef enum mnist_part {
    MNIST_FORWARD,
    MNIST_BACKWARD_DATA,
    MNIST_BACKWARD_WEIGHTS,
    MNIST_PARTS
} mnist_part_t;

typedef struct mnist_product {
    cublaslt_product_t lt;
    unsigned epilogue;
} mnist_product_t;

typedef struct mnist_library {
    cublaslt_t lt;
    size_t hidden, batch;
    bool half_sums;     /* except for the logits, which are float32 */
    cu_pointer_t masks; /* of open ReLUs, for all layers */
    mnist_product_t products[MNIST_PARTS][MNIST_LAYERS];
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
