/* The training loop of mlp_train, like PyTorch's: a sequence of operators, each of which allocates
 * its results; a result is released once its last reader is launched. The loop submits work without
 * waiting, through a table of functions: the driver's or, in tests, the host's. */
#ifndef BENCH_WORKLOADS_MLP_TRAIN_LOOP_H
#define BENCH_WORKLOADS_MLP_TRAIN_LOOP_H

#include "workloads/mlp_train/operators.h"
#include "workloads/mnist/gpu_images.h"

/* Each pass makes the same allocator calls every time. */
typedef enum mlpt_pass {
    MLPT_PASS_STEP,
    MLPT_PASS_VALIDATION,
    MLPT_PASS_CHECK, /* a step that writes its gradients to gradient_w and gradient_b */
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

/* The network and its data, in device memory that outlives the training. */
typedef struct mlpt_loop {
    mlpt_device_t device;
    mlpt_kernels_t kernels;
    size_t layers, sizes[MLPT_MAX_LAYERS + 1];
    cu_pointer_t w[MLPT_MAX_LAYERS], b[MLPT_MAX_LAYERS];
    mnist_gpu_images_t train, test;
    /* Destination of the gradients in a step for the check; else 0. */
    cu_pointer_t gradient_w[MLPT_MAX_LAYERS], gradient_b[MLPT_MAX_LAYERS];
    float rate;
} mlpt_loop_t;

/* One step over `rows` images with the numbers at `order`; `loss` gets the batch's mean loss before
 * the update. After a failure, the step's allocations remain. */
status_t mlpt_loop_step(mlpt_loop_t *loop, size_t rows, cu_pointer_t order, cu_pointer_t loss,
                        error_t *err);

/* For rungs with MLPT_TRAIN_STEPS: steps over `rows` images, `batch` at a time, the last one with
 * the rest; `losses` gets one loss per step. */
status_t mlpt_loop_steps(mlpt_loop_t *loop, size_t rows, size_t batch, cu_pointer_t order,
                         cu_pointer_t losses, error_t *err);

/* All test images: `sums` gets two floats, the sum of losses and the number of correct ones. */
status_t mlpt_loop_validate(mlpt_loop_t *loop, size_t rows, cu_pointer_t sums, error_t *err);

/* Maximum bytes in use in a step of `rows` rows, and in a validation. */
double mlpt_step_bytes(const mlpt_shape_t *shape, size_t rows);
double mlpt_validation_bytes(const mlpt_shape_t *shape);

#endif
