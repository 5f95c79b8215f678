/* The training loop of mlp_train as PyTorch runs it: operators one after the other, each of which
 * takes the memory of its results from an allocator; a result is given back as soon as its last
 * reader is launched. The loop submits work and waits for nothing. Who launches and allocates is a
 * table of functions: the driver, or, in tests, the host. */
#ifndef BENCH_WORKLOADS_MLP_TRAIN_LOOP_H
#define BENCH_WORKLOADS_MLP_TRAIN_LOOP_H

#include "workloads/mlp_train/operators.h"
#include "workloads/mnist/gpu_images.h"

/* What an allocator is told to be in the middle of: the same calls each time. */
typedef enum mlpt_pass {
    MLPT_PASS_STEP,
    MLPT_PASS_VALIDATION,
    MLPT_PASS_CHECK, /* a step that leaves its gradients where it is told */
} mlpt_pass_t;

typedef struct mlpt_device {
    void *context;
    status_t (*begin)(void *context, mlpt_pass_t pass, error_t *err);
    status_t (*end)(void *context, error_t *err);
    status_t (*allocate)(void *context, size_t bytes, cu_pointer_t *at, error_t *err);
    status_t (*release)(void *context, cu_pointer_t at, error_t *err);
    /* `argument` is an mlpt_op_t, or mlpt_layers_t for MLPT_TRAIN_LAYERS. */
    status_t (*launch)(void *context, mlpt_operator_t which, size_t blocks, const void *argument,
                       error_t *err);
} mlpt_device_t;

/* The network and its data, all in device memory that is there for the whole training. */
typedef struct mlpt_loop {
    mlpt_device_t device;
    mlpt_kernels_t kernels;
    size_t layers, sizes[MLPT_MAX_LAYERS + 1];
    cu_pointer_t w[MLPT_MAX_LAYERS], b[MLPT_MAX_LAYERS];
    mnist_gpu_images_t train, test;
    /* Where a step leaves its gradients for the check; 0 in all others. */
    cu_pointer_t gradient_w[MLPT_MAX_LAYERS], gradient_b[MLPT_MAX_LAYERS];
    float rate;
} mlpt_loop_t;

/* One step over the `rows` images whose numbers are at `order`; the batch's mean loss before the
 * update goes to `loss`. After a failure the allocator still has what the step took. */
status_t mlpt_loop_step(mlpt_loop_t *loop, size_t rows, cu_pointer_t order, cu_pointer_t loss,
                        error_t *err);

/* Of a rung that has MLPT_TRAIN_STEPS: steps over `rows` images, `batch` at a time, the last one
 * with what is left; each one's loss goes to its place at `losses`. */
status_t mlpt_loop_steps(mlpt_loop_t *loop, size_t rows, size_t batch, cu_pointer_t order,
                         cu_pointer_t losses, error_t *err);

/* All test images: the sum of their losses and how many are right, two floats at `sums`. */
status_t mlpt_loop_validate(mlpt_loop_t *loop, size_t rows, cu_pointer_t sums, error_t *err);

/* Bytes that a step of `rows` rows has in use at most, and a validation. */
double mlpt_step_bytes(const mlpt_shape_t *shape, size_t rows);
double mlpt_validation_bytes(const mlpt_shape_t *shape);

#endif
