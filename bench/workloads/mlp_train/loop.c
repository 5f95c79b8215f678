#include "workloads/mlp_train/operators.h"

#include <math.h>
#include <string.h>

enum { MLPT_FLAG_FIRST_LAYER = 1 }; /* see the device's OP_FIRST_LAYER */

/* The tensors of one batch; 0 before allocation and after release. */
typedef struct batch {
    mlpt_loop_t *loop;
    mnist_gpu_images_t from;
    cu_pointer_t order; /* 0: the first `rows` images of `from` */
    cu_pointer_t loss;
    size_t rows;
    cu_pointer_t x[MLPT_MAX_LAYERS];  /* layer inputs; x[0] only if gathered */
    cu_pointer_t dy[MLPT_MAX_LAYERS]; /* gradient of the loss by W x + b of each layer */
    cu_pointer_t dw[MLPT_MAX_LAYERS], db[MLPT_MAX_LAYERS];
    cu_pointer_t row_losses;
} batch_t;

static bool has(const batch_t *batch, mlpt_operator_t which) {
    return batch->loop->kernels.has[which];
}

static status_t take(batch_t *batch, size_t elements, cu_pointer_t *tensor, error_t *err) {
    const mlpt_device_t *device = &batch->loop->device;
    return device->allocate(device->context, elements * sizeof(float), tensor, err);
}

/* After the launch of the tensor's last reader. */
static status_t drop(batch_t *batch, cu_pointer_t *tensor, error_t *err) {
    const mlpt_device_t *device = &batch->loop->device;
    const cu_pointer_t dropped = *tensor;
    *tensor = 0;
    return dropped != 0 ? device->release(device->context, dropped, err) : STATUS_OK;
}

static status_t launch(batch_t *batch, mlpt_operator_t which, size_t rows, size_t columns,
                       const mlpt_op_t *op, error_t *err) {
    const mlpt_device_t *device = &batch->loop->device;
    const size_t blocks = mlpt_blocks(&batch->loop->kernels.stage[which], rows, columns);
    return device->launch(device->context, which, blocks, op, err);
}

/* The arguments of layer l, with the tensors of this batch. */
static mlpt_op_t layer_op(const batch_t *batch, size_t l) {
    const mlpt_loop_t *loop = batch->loop;
    const bool indexed = l == 0 && batch->x[0] == 0;
    return (mlpt_op_t){.x = indexed ? batch->from.images : batch->x[l],
                       .order = indexed ? batch->order : 0,
                       .w = loop->w[l],
                       .b = loop->b[l],
                       .dy = batch->dy[l],
                       .dw = batch->dw[l],
                       .db = batch->db[l],
                       .rows = (uint32_t)batch->rows,
                       .n_in = (uint32_t)loop->sizes[l],
                       .n_out = (uint32_t)loop->sizes[l + 1],
                       .flags = l == 0 ? MLPT_FLAG_FIRST_LAYER : 0,
                       .rate = loop->rate};
}

/* ---- forward --------------------------------------------------------------------------------- */

static status_t gather(batch_t *batch, error_t *err) {
    if (!has(batch, MLPT_GATHER))
        return STATUS_OK;
    mlpt_op_t op = layer_op(batch, 0);
    op.n_out = op.n_in;
    TRY(take(batch, batch->rows * op.n_in, &batch->x[0], err));
    op.y = batch->x[0];
    return launch(batch, MLPT_GATHER, batch->rows, op.n_in, &op, err);
}

/* `*y` = W x + b of layer l. */
static status_t linear(batch_t *batch, mlpt_operator_t which, size_t l, cu_pointer_t *y,
                       error_t *err) {
    mlpt_op_t op = layer_op(batch, l);
    TRY(take(batch, batch->rows * op.n_out, y, err));
    op.y = *y;
    return launch(batch, which, batch->rows, op.n_out, &op, err);
}

static status_t hidden_layer(batch_t *batch, size_t l, error_t *err) {
    if (has(batch, MLPT_LINEAR_RELU))
        return linear(batch, MLPT_LINEAR_RELU, l, &batch->x[l + 1], err);
    const size_t n = batch->loop->sizes[l + 1];
    cu_pointer_t z;
    TRY(linear(batch, MLPT_LINEAR, l, &z, err));
    TRY(take(batch, batch->rows * n, &batch->x[l + 1], err));
    const mlpt_op_t op = {.x = z,
                          .y = batch->x[l + 1],
                          .rows = (uint32_t)batch->rows,
                          .n_in = (uint32_t)n,
                          .n_out = (uint32_t)n};
    TRY(launch(batch, MLPT_RELU, batch->rows, n, &op, err));
    return drop(batch, &z, err);
}

/* ---- the last layer and the loss ------------------------------------------------------------- */

static mlpt_op_t labelled(const batch_t *batch, mlpt_op_t op) {
    op.labels = batch->from.labels;
    op.order = batch->order;
    return op;
}

/* Also computes the gradient by the output of the last hidden layer. */
static status_t linear_loss(batch_t *batch, error_t *err) {
    const size_t last = batch->loop->layers - 1, n_in = batch->loop->sizes[last];
    TRY(take(batch, batch->rows, &batch->row_losses, err));
    TRY(take(batch, batch->rows * MNIST_CLASSES, &batch->dy[last], err));
    TRY(take(batch, batch->rows * n_in, &batch->dy[last - 1], err));
    mlpt_op_t op = labelled(batch, layer_op(batch, last));
    op.loss = batch->row_losses;
    op.dx = batch->dy[last - 1];
    return launch(batch, MLPT_LINEAR_LOSS, batch->rows, n_in, &op, err);
}

static status_t logits_loss(batch_t *batch, error_t *err) {
    const size_t last = batch->loop->layers - 1;
    cu_pointer_t logits;
    TRY(linear(batch, MLPT_LINEAR, last, &logits, err));
    TRY(take(batch, batch->rows * MNIST_CLASSES, &batch->dy[last], err));
    const mlpt_op_t op = labelled(batch, (mlpt_op_t){.x = logits,
                                                     .dy = batch->dy[last],
                                                     .loss = batch->loss,
                                                     .rows = (uint32_t)batch->rows,
                                                     .n_in = MNIST_CLASSES,
                                                     .n_out = MNIST_CLASSES});
    TRY(launch(batch, MLPT_SOFTMAX_LOSS, batch->rows, MNIST_CLASSES, &op, err));
    return drop(batch, &logits, err);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* dy of layer l - 1 from that of layer l; x[l] > 0 where the ReLU between them was open. */
static status_t input_gradient(batch_t *batch, size_t l, error_t *err) {
    mlpt_op_t op = layer_op(batch, l);
    const size_t elements = batch->rows * op.n_in;
    cu_pointer_t dx;
    TRY(take(batch, elements, &dx, err));
    op.dx = dx;
    if (has(batch, MLPT_INPUT_GRADIENT_RELU)) {
        batch->dy[l - 1] = dx;
        return launch(batch, MLPT_INPUT_GRADIENT_RELU, batch->rows, op.n_in, &op, err);
    }
    TRY(launch(batch, MLPT_INPUT_GRADIENT, batch->rows, op.n_in, &op, err));
    TRY(take(batch, elements, &batch->dy[l - 1], err));
    const mlpt_op_t relu = {.x = batch->x[l],
                            .dy = dx,
                            .dx = batch->dy[l - 1],
                            .rows = (uint32_t)batch->rows,
                            .n_in = op.n_in,
                            .n_out = op.n_in};
    TRY(launch(batch, MLPT_RELU_GRADIENT, batch->rows, op.n_in, &relu, err));
    return drop(batch, &dx, err);
}

/* Gradients of a layer's parameters, kept until the update. */
static status_t parameter_gradients(batch_t *batch, size_t l, error_t *err) {
    const mlpt_loop_t *loop = batch->loop;
    const size_t n_in = loop->sizes[l], n_out = loop->sizes[l + 1];
    batch->dw[l] = loop->gradient_w[l];
    batch->db[l] = loop->gradient_b[l];
    if (batch->dw[l] == 0) {
        TRY(take(batch, n_out * n_in, &batch->dw[l], err));
        TRY(take(batch, n_out, &batch->db[l], err));
    }
    const mlpt_op_t op = layer_op(batch, l);
    TRY(launch(batch, MLPT_WEIGHT_GRADIENT, n_out, n_in, &op, err));
    TRY(launch(batch, MLPT_BIAS_GRADIENT, 1, n_out, &op, err));
    TRY(drop(batch, &batch->dy[l], err));
    return drop(batch, &batch->x[l], err);
}

static status_t backward(batch_t *batch, error_t *err) {
    for (size_t l = batch->loop->layers; l-- > 0;) {
        if (l > 0 && batch->dy[l - 1] == 0)
            TRY(input_gradient(batch, l, err));
        if (!has(batch, MLPT_TRAIN_LAYERS))
            TRY(parameter_gradients(batch, l, err));
    }
    return STATUS_OK;
}

/* ---- update ---------------------------------------------------------------------------------- */

static status_t update_layer(batch_t *batch, size_t l, error_t *err) {
    const mlpt_op_t op = layer_op(batch, l);
    TRY(launch(batch, MLPT_UPDATE, op.n_out, op.n_in, &op, err));
    if (batch->loop->gradient_w[l] != 0)
        return STATUS_OK;
    TRY(drop(batch, &batch->dw[l], err));
    return drop(batch, &batch->db[l], err);
}

/* Gradients go to memory only for the check. */
static status_t train_layers(batch_t *batch, error_t *err) {
    const mlpt_loop_t *loop = batch->loop;
    const stage_t *stage = &loop->kernels.stage[MLPT_TRAIN_LAYERS];
    mlpt_layers_t layers = {
        .row_losses = batch->row_losses, .loss = batch->loss, .rows = (uint32_t)batch->rows};
    for (size_t l = 0; l < loop->layers; l++) {
        batch->dw[l] = loop->gradient_w[l];
        batch->db[l] = loop->gradient_b[l];
        layers.layer[l] = layer_op(batch, l);
        layers.layer[l].first_block = layers.blocks;
        layers.blocks += (uint32_t)mlpt_blocks(stage, loop->sizes[l + 1], loop->sizes[l]);
    }
    const size_t blocks = layers.blocks + (batch->row_losses != 0);
    TRY(loop->device.launch(loop->device.context, MLPT_TRAIN_LAYERS, blocks, &layers, err));
    for (size_t l = loop->layers; l-- > 0;) {
        TRY(drop(batch, &batch->dy[l], err));
        TRY(drop(batch, &batch->x[l], err));
    }
    return drop(batch, &batch->row_losses, err);
}

static status_t update(batch_t *batch, error_t *err) {
    if (has(batch, MLPT_TRAIN_LAYERS))
        return train_layers(batch, err);
    for (size_t l = 0; l < batch->loop->layers; l++)
        TRY(update_layer(batch, l, err));
    return STATUS_OK;
}

/* ---- passes ---------------------------------------------------------------------------------- */

static status_t run_step(batch_t *batch, error_t *err) {
    TRY(gather(batch, err));
    for (size_t l = 0; l + 1 < batch->loop->layers; l++)
        TRY(hidden_layer(batch, l, err));
    if (has(batch, MLPT_LINEAR_LOSS))
        TRY(linear_loss(batch, err));
    else
        TRY(logits_loss(batch, err));
    TRY(backward(batch, err));
    return update(batch, err);
}

static mlpt_pass_t pass_of(const mlpt_loop_t *loop) {
    return loop->gradient_w[0] != 0 ? MLPT_PASS_CHECK : MLPT_PASS_STEP;
}

/* Allocates only the memory shared by the blocks of all steps. */
static status_t run_steps(const mlpt_loop_t *loop, mlpt_steps_t *steps, error_t *err) {
    const mlpt_device_t *device = &loop->device;
    const stage_t *stage = &loop->kernels.stage[MLPT_TRAIN_STEPS];
    const size_t width = loop->sizes[1], blocks = mlpt_blocks(stage, 1, width);
    const size_t bytes = mlpt_steps_floats(stage, loop->layers, width) * sizeof(float);
    TRY(device->allocate(device->context, bytes, &steps->memory, err));
    TRY(device->launch(device->context, MLPT_TRAIN_STEPS, blocks, steps, err));
    return device->release(device->context, steps->memory, err);
}

status_t mlpt_loop_steps(mlpt_loop_t *loop, size_t rows, size_t batch, cu_pointer_t order,
                         cu_pointer_t losses, error_t *err) {
    const mlpt_device_t *device = &loop->device;
    const batch_t first = {.loop = loop, .from = loop->train, .order = order, .rows = batch};
    mlpt_steps_t steps = {
        .losses = losses, .rows = (uint32_t)rows, .steps = (uint32_t)((rows + batch - 1) / batch)};
    for (size_t l = 0; l < loop->layers; l++) {
        steps.layer[l] = layer_op(&first, l);
        steps.layer[l].dw = loop->gradient_w[l];
        steps.layer[l].db = loop->gradient_b[l];
    }
    steps.layer[loop->layers - 1].labels = loop->train.labels;
    TRY(device->begin(device->context, pass_of(loop), err));
    TRY(run_steps(loop, &steps, err));
    return device->end(device->context, err);
}

status_t mlpt_loop_step(mlpt_loop_t *loop, size_t rows, cu_pointer_t order, cu_pointer_t loss,
                        error_t *err) {
    if (loop->kernels.has[MLPT_TRAIN_STEPS])
        return mlpt_loop_steps(loop, rows, rows, order, loss, err);
    const mlpt_device_t *device = &loop->device;
    batch_t batch = {.loop = loop, .from = loop->train, .order = order, .loss = loss, .rows = rows};
    TRY(device->begin(device->context, pass_of(loop), err));
    TRY(run_step(&batch, err));
    return device->end(device->context, err);
}

/* Without a backward pass, each activation is released once the next one is launched. */
static status_t run_validation(batch_t *batch, error_t *err) {
    const size_t last = batch->loop->layers - 1;
    cu_pointer_t logits;
    for (size_t l = 0; l < last; l++) {
        TRY(hidden_layer(batch, l, err));
        TRY(drop(batch, &batch->x[l], err));
    }
    TRY(linear(batch, MLPT_LINEAR, last, &logits, err));
    TRY(drop(batch, &batch->x[last], err));
    const mlpt_op_t op = labelled(batch, (mlpt_op_t){.x = logits,
                                                     .loss = batch->loss,
                                                     .rows = (uint32_t)batch->rows,
                                                     .n_in = MNIST_CLASSES,
                                                     .n_out = MNIST_CLASSES});
    TRY(launch(batch, MLPT_VALIDATE, batch->rows, MNIST_CLASSES, &op, err));
    return drop(batch, &logits, err);
}

status_t mlpt_loop_validate(mlpt_loop_t *loop, size_t rows, cu_pointer_t sums, error_t *err) {
    const mlpt_device_t *device = &loop->device;
    batch_t batch = {.loop = loop, .from = loop->test, .loss = sums, .rows = rows};
    TRY(device->begin(device->context, MLPT_PASS_VALIDATION, err));
    TRY(run_validation(&batch, err));
    return device->end(device->context, err);
}

double mlpt_step_bytes(const mlpt_shape_t *shape, size_t rows) {
    double units = 2.0 * MNIST_CLASSES;
    for (size_t l = 0; l <= shape->layers; l++)
        units += 2.0 * (double)shape->sizes[l]; /* a layer's activations and their gradients */
    const double widest = fmax((double)shape->sizes[1], MNIST_PIXELS);
    return sizeof(float) * ((double)rows * (units + widest) + mlpt_parameters(shape));
}

double mlpt_validation_bytes(const mlpt_shape_t *shape) {
    return 3.0 * sizeof(float) * MNIST_TEST_IMAGES * (double)shape->sizes[1];
}
