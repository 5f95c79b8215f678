/* The operators of mlp_train on the host, for tests of its loop: plain loops, with sums in double.
 * Memory that is given back is filled with NaN. */
#ifndef TESTS_HOST_OPERATORS_H
#define TESTS_HOST_OPERATORS_H

#include "base/memory.h"
#include "workloads/mlp_train/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline float *floats(cu_pointer_t at) {
    return (float *)(uintptr_t)at; /* NOLINT: the host plays the device */
}

static inline const float *host_row(const mlpt_op_t *op, size_t row) {
    const uint32_t *order = (const uint32_t *)(uintptr_t)op->order;
    return floats(op->x) + (order != NULL ? order[row] : row) * op->n_in;
}

static inline uint8_t host_label(const mlpt_op_t *op, size_t row) {
    const uint32_t *order = (const uint32_t *)(uintptr_t)op->order;
    return ((const uint8_t *)(uintptr_t)op->labels)[order != NULL ? order[row] : row];
}

static inline void host_gather(const mlpt_op_t *op) {
    for (size_t r = 0; r < op->rows; r++)
        memcpy(floats(op->y) + r * op->n_in, host_row(op, r), op->n_in * sizeof(float));
}

static inline void host_linear(const mlpt_op_t *op, bool relu) {
    for (size_t r = 0; r < op->rows; r++)
        for (size_t o = 0; o < op->n_out; o++) {
            const float *x = host_row(op, r), *w = floats(op->w) + o * op->n_in;
            double z = floats(op->b)[o];
#pragma omp simd reduction(+ : z)
            for (size_t i = 0; i < op->n_in; i++)
                z += (double)x[i] * (double)w[i];
            floats(op->y)[r * op->n_out + o] = (float)(relu && z < 0 ? 0 : z);
        }
}

static inline void host_relu(const mlpt_op_t *op) {
    for (size_t i = 0; i < (size_t)op->rows * op->n_out; i++)
        floats(op->y)[i] = fmaxf(floats(op->x)[i], 0);
}

/* Of one row of logits; `delta`, unless it is NULL, is divided by the rows. */
static inline double host_loss_of_row(const float *z, uint8_t label, size_t rows, float *delta) {
    double total = 0;
    for (size_t k = 0; k < MNIST_CLASSES; k++)
        total += exp((double)z[k]);
    for (size_t k = 0; k < MNIST_CLASSES && delta != NULL; k++)
        delta[k] = (float)((exp((double)z[k]) / total - (k == label)) / (double)rows);
    return log(total) - (double)z[label];
}

static inline void host_softmax_loss(const mlpt_op_t *op) {
    double sum = 0;
    for (size_t r = 0; r < op->rows; r++)
        sum += host_loss_of_row(floats(op->x) + r * MNIST_CLASSES, host_label(op, r), op->rows,
                                floats(op->dy) + r * MNIST_CLASSES);
    *floats(op->loss) = (float)(sum / op->rows);
}

static inline void host_validate(const mlpt_op_t *op) {
    double sum = 0, right = 0;
    for (size_t r = 0; r < op->rows; r++) {
        const float *z = floats(op->x) + r * MNIST_CLASSES;
        size_t best = 0;
        for (size_t k = 1; k < MNIST_CLASSES; k++)
            best = z[k] > z[best] ? k : best;
        sum += host_loss_of_row(z, host_label(op, r), op->rows, NULL);
        right += best == host_label(op, r);
    }
    floats(op->loss)[0] = (float)sum;
    floats(op->loss)[1] = (float)right;
}

static inline void host_input_gradient(const mlpt_op_t *op, bool mask) {
    for (size_t r = 0; r < op->rows; r++)
        for (size_t i = 0; i < op->n_in; i++) {
            double sum = 0;
            for (size_t o = 0; o < op->n_out; o++)
                sum += (double)floats(op->dy)[r * op->n_out + o] *
                       (double)floats(op->w)[o * op->n_in + i];
            const bool open = !mask || floats(op->x)[r * op->n_in + i] > 0;
            floats(op->dx)[r * op->n_in + i] = open ? (float)sum : 0;
        }
}

static inline void host_relu_gradient(const mlpt_op_t *op) {
    for (size_t i = 0; i < (size_t)op->rows * op->n_out; i++)
        floats(op->dx)[i] = floats(op->x)[i] > 0 ? floats(op->dy)[i] : 0;
}

static inline void host_linear_loss(const mlpt_op_t *op) {
    float *logits = mem_alloc((size_t)op->rows * MNIST_CLASSES * sizeof *logits);
    mlpt_op_t linear = *op;
    linear.y = (cu_pointer_t)(uintptr_t)logits;
    linear.order = 0; /* it is for the labels: x are no images */
    host_linear(&linear, false);
    for (size_t r = 0; r < op->rows; r++)
        floats(op->loss)[r] = (float)host_loss_of_row(logits + r * MNIST_CLASSES, host_label(op, r),
                                                      op->rows, floats(op->dy) + r * MNIST_CLASSES);
    host_input_gradient(op, true);
    free(logits);
}

static inline void host_weight_gradient(const mlpt_op_t *op, float *dw) {
    double *sums = mem_alloc(op->n_in * sizeof *sums);
    for (size_t o = 0; o < op->n_out; o++) {
        memset(sums, 0, op->n_in * sizeof *sums);
        for (size_t r = 0; r < op->rows; r++) {
            const double dy = (double)floats(op->dy)[r * op->n_out + o];
            const float *x = host_row(op, r);
#pragma omp simd
            for (size_t i = 0; i < op->n_in; i++)
                sums[i] += dy * (double)x[i];
        }
        for (size_t i = 0; i < op->n_in; i++)
            dw[o * op->n_in + i] = (float)sums[i];
    }
    free(sums);
}

static inline void host_bias_gradient(const mlpt_op_t *op, float *db) {
    for (size_t o = 0; o < op->n_out; o++) {
        double sum = 0;
        for (size_t r = 0; r < op->rows; r++)
            sum += (double)floats(op->dy)[r * op->n_out + o];
        db[o] = (float)sum;
    }
}

static inline void host_update(const mlpt_op_t *op) {
    for (size_t i = 0; i < (size_t)op->n_out * op->n_in; i++)
        floats(op->w)[i] -= op->rate * floats(op->dw)[i];
    for (size_t o = 0; o < op->n_out; o++)
        floats(op->b)[o] -= op->rate * floats(op->db)[o];
}

static inline void host_train_layers(const mlpt_layers_t *layers, size_t n) {
    for (size_t l = 0; l < n; l++) {
        mlpt_op_t op = layers->layer[l];
        const size_t elements = (size_t)op.n_out * op.n_in;
        float *own = mem_alloc((elements + op.n_out) * sizeof *own);
        if (op.dw == 0)
            op.dw = (cu_pointer_t)(uintptr_t)own;
        if (op.db == 0)
            op.db = (cu_pointer_t)(uintptr_t)(own + elements);
        host_weight_gradient(&op, floats(op.dw));
        host_bias_gradient(&op, floats(op.db));
        host_update(&op);
        free(own);
    }
    double sum = 0;
    for (size_t r = 0; r < layers->rows; r++)
        sum += (double)floats(layers->row_losses)[r];
    *floats(layers->loss) = (float)(sum / layers->rows);
}

/* Rows and deltas of one step, layer by layer; activations in memory of its own. */
static inline void host_step(const mlpt_steps_t *steps, size_t n, size_t first, size_t rows,
                             float *loss) {
    mlpt_layers_t step = {.rows = (uint32_t)rows, .loss = (cu_pointer_t)(uintptr_t)loss};
    float *memory[2 * MLPT_MAX_LAYERS + 2], *row_losses = mem_alloc(rows * sizeof *row_losses);
    size_t n_memory = 0;
    const cu_pointer_t order = steps->layer[0].order + first * sizeof(uint32_t);
    step.row_losses = (cu_pointer_t)(uintptr_t)row_losses;
    for (size_t l = 0; l < n; l++) {
        mlpt_op_t *op = &step.layer[l];
        *op = steps->layer[l];
        op->rows = (uint32_t)rows;
        op->order = l == 0 ? order : 0;
        op->x = l == 0 ? op->x : step.layer[l - 1].y;
        op->y = (cu_pointer_t)(uintptr_t)mem_alloc(rows * op->n_out * sizeof(float));
        op->dy = (cu_pointer_t)(uintptr_t)mem_alloc(rows * op->n_out * sizeof(float));
        memory[n_memory++] = floats(op->y);
        memory[n_memory++] = floats(op->dy);
        if (l + 1 < n)
            host_linear(op, true);
    }
    for (size_t l = n; l-- > 1;) {
        mlpt_op_t op = step.layer[l];
        op.dx = step.layer[l - 1].dy;
        op.order = order;
        op.loss = step.row_losses;
        if (l + 1 == n)
            host_linear_loss(&op);
        else
            host_input_gradient(&op, true);
    }
    host_train_layers(&step, n);
    for (size_t i = 0; i < n_memory; i++)
        free(memory[i]);
    free(row_losses);
}

static inline void host_train_steps(const mlpt_steps_t *steps, size_t n) {
    const size_t batch = steps->layer[0].rows;
    for (size_t step = 0; step < steps->steps; step++) {
        const size_t first = step * batch, left = steps->rows - first;
        host_step(steps, n, first, left < batch ? left : batch, floats(steps->losses) + step);
    }
}

/* `n` layers; `argument` as the loop gives it. */
static inline void host_launch(mlpt_operator_t which, const void *argument, size_t n) {
    const mlpt_op_t *op = argument;
    switch (which) {
    case MLPT_GATHER:
        host_gather(op);
        break;
    case MLPT_LINEAR:
        host_linear(op, false);
        break;
    case MLPT_RELU:
        host_relu(op);
        break;
    case MLPT_LINEAR_RELU:
        host_linear(op, true);
        break;
    case MLPT_SOFTMAX_LOSS:
        host_softmax_loss(op);
        break;
    case MLPT_LINEAR_LOSS:
        host_linear_loss(op);
        break;
    case MLPT_INPUT_GRADIENT:
        host_input_gradient(op, false);
        break;
    case MLPT_RELU_GRADIENT:
        host_relu_gradient(op);
        break;
    case MLPT_INPUT_GRADIENT_RELU:
        host_input_gradient(op, true);
        break;
    case MLPT_WEIGHT_GRADIENT:
        host_weight_gradient(op, floats(op->dw));
        break;
    case MLPT_BIAS_GRADIENT:
        host_bias_gradient(op, floats(op->db));
        break;
    case MLPT_UPDATE:
        host_update(op);
        break;
    case MLPT_TRAIN_LAYERS:
        host_train_layers(argument, n);
        break;
    case MLPT_TRAIN_STEPS:
        host_train_steps(argument, n);
        break;
    case MLPT_VALIDATE:
        host_validate(op);
        break;
    default:
        abort();
    }
}

#endif
