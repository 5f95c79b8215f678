/* The operators of mlp_train and the argument of their kernels. A rung lists its kernels in STAGES,
 * by these names; operators.c lists which operators a fused one replaces. */
#ifndef BENCH_WORKLOADS_MLP_TRAIN_OPERATORS_H
#define BENCH_WORKLOADS_MLP_TRAIN_OPERATORS_H

#include "cuda/driver.h"
#include "engine/launch.h"
#include "workloads/mlp_train/data.h"
#include "workloads/mnist/data.h"

typedef enum mlpt_operator {
    MLPT_GATHER,              /* y = the images of the batch, contiguous */
    MLPT_LINEAR,              /* y = x W^T + b */
    MLPT_RELU,                /* y = max(x, 0) */
    MLPT_LINEAR_RELU,         /* both */
    MLPT_SOFTMAX_LOSS,        /* loss of the logits x; dy, its gradient by them */
    MLPT_LINEAR_LOSS,         /* the last layer with the loss of each row, dy and masked dx */
    MLPT_INPUT_GRADIENT,      /* dx = dy W */
    MLPT_RELU_GRADIENT,       /* dx = dy where x > 0, else 0 */
    MLPT_INPUT_GRADIENT_RELU, /* both */
    MLPT_WEIGHT_GRADIENT,     /* dw = dy^T x */
    MLPT_BIAS_GRADIENT,       /* db = sum of dy over the batch */
    MLPT_UPDATE,              /* w -= rate * dw, b -= rate * db */
    MLPT_TRAIN_LAYERS,        /* the last three for all layers in one launch */
    MLPT_TRAIN_STEPS,         /* several complete steps in one launch */
    MLPT_VALIDATE,            /* sum of the losses of the logits x, number of correct rows */
    MLPT_OPERATORS,
} mlpt_operator_t;

extern const char *const MLPT_OPERATOR_NAMES[MLPT_OPERATORS];

/* These three as in kernels/mlp_train/mlp_train.cuh, which asserts the same sizes. */
typedef struct mlpt_op {
    cu_pointer_t x, order, w, b, y, dy, dx, dw, db, labels, loss;
    uint32_t rows, n_in, n_out, flags;
    uint32_t first_block; /* of this layer, in a launch for several */
    float rate;
} mlpt_op_t;

_Static_assert(sizeof(mlpt_op_t) == 112, "the device's layout");

/* For MLPT_TRAIN_LAYERS. Kernels take as many layers as the case has, so `layer` comes last. */
typedef struct mlpt_layers {
    cu_pointer_t row_losses, loss; /* loss = mean of row_losses, unless 0 */
    uint32_t rows, blocks;         /* blocks of all layers; one more computes the mean */
    mlpt_op_t layer[MLPT_MAX_LAYERS];
} mlpt_layers_t;

_Static_assert(sizeof(mlpt_layers_t) == 24 + MLPT_MAX_LAYERS * sizeof(mlpt_op_t),
               "the device's layout");

/* For MLPT_TRAIN_STEPS. It uses w, b, dw, db and rate of each layer; in the first layer also x (all
 * images), order (of all steps) and rows (of one batch); in the last layer also labels. */
typedef struct mlpt_steps {
    cu_pointer_t losses;  /* one per step */
    cu_pointer_t memory;  /* mlpt_steps_floats() floats of scratch memory */
    uint32_t rows, steps; /* rows of all steps: the last batch may be smaller */
    mlpt_op_t layer[MLPT_MAX_LAYERS];
} mlpt_steps_t;

_Static_assert(sizeof(mlpt_steps_t) == sizeof(mlpt_layers_t), "the device's layout");

/* The operators of a rung, and their stages. */
typedef struct mlpt_kernels {
    bool has[MLPT_OPERATORS];
    stage_t stage[MLPT_OPERATORS];
} mlpt_kernels_t;

/* Blocks for a result of `rows` × `columns`. */
size_t mlpt_blocks(const stage_t *stage, size_t rows, size_t columns);
/* Scratch memory in which the blocks of MLPT_TRAIN_STEPS exchange activations and deltas. */
size_t mlpt_steps_floats(const stage_t *stage, size_t layers, size_t width);

/* Fails with the name of a missing operator if these cannot train a network. */
status_t mlpt_kernels_check(const mlpt_kernels_t *kernels, error_t *err);

/* The training loop of mlp_train, like PyTorch's: a sequence of operators, each of which allocates
 * its results; a result is released once its last reader is launched. The loop submits work without
 * waiting, through a table of functions: the driver's or, in tests, the host's. */

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
