/* The products of matrices of one training step by cuBLASLt, for rungs whose plan says `library`.
 * Everything else of the step is kernels of the rung. */
#ifndef BENCH_WORKLOADS_MNIST_TRAIN_CUBLASLT_H
#define BENCH_WORKLOADS_MNIST_TRAIN_CUBLASLT_H

#include "cuda/cublaslt.h"
#include "workloads/mnist_train/kernel_args.h"

/* Of each layer l: a[l + 1] = ReLU(W a[l] + b), without bias the logits; delta[l - 1] (not of layer
 * 0); dW and db, into problem.scratch as fp16, laid out as the parameters. */
typedef enum mnist_part {
    MNIST_FORWARD,
    MNIST_BACKWARD_DATA,
    MNIST_BACKWARD_WEIGHTS,
    MNIST_PARTS
} mnist_part_t;

typedef struct mnist_product {
    cublaslt_desc_t desc;
    cublaslt_layout_t a, b, d;
    cublaslt_algorithm_t algorithm;
    unsigned epilogue;
    bool half_sums;
} mnist_product_t;

typedef struct mnist_library {
    cublaslt_api_t api;
    cublaslt_handle_t handle;
    size_t hidden, batch;
    bool half_sums; /* but of the logits, which are float32 */
    cu_pointer_t workspace;
    cu_pointer_t masks; /* where ReLUs let through, for all layers */
    mnist_product_t products[MNIST_PARTS][MNIST_LAYERS];
} mnist_library_t;

enum { MNIST_WORKSPACE_BYTES = 32 << 20 }; /* what NVIDIA recommends for Hopper */
size_t mnist_masks_bytes(size_t hidden, size_t batch);

/* Choose algorithms for the library's shape; api, hidden, batch, half_sums, workspace and masks are
 * set. `problem` says how its buffers are aligned. On failure close it, too. */
status_t mnist_library_prepare(mnist_library_t *library, const mnist_problem_t *problem,
                               error_t *err);
void mnist_library_close(mnist_library_t *library);

/* Submit one product, and do not wait for it. */
status_t mnist_library_multiply(const mnist_library_t *library, mnist_part_t part, size_t layer,
                                const mnist_problem_t *problem, cu_stream_t stream, error_t *err);

/* Does the product leave out what belongs to it, ReLU's derivative or the biases' gradients,
 * because this cuBLASLt has no such epilogue for its shape? */
bool mnist_library_lacks(const mnist_library_t *library, mnist_part_t part, size_t layer);

#endif
