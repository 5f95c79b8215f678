// One kernel per operator, as in PyTorch's eager mode: all but the matrix products (linear, input_gradient,
// weight_gradient), which the rung defines.
#pragma once
// Launch k of the way back is for layer DEPTH - 1 - k, and the gradients of the layer before.
#define OF_HIDDEN(name, ...) TEMPORARY_LIST(float, name, DEPTH - 1, __VA_ARGS__)
#define OF_BATCH "4 * batch * width"
#define TEMPORARIES                                                                                                    \
    TEMPORARY(float, pixels, "4 * batch * 784", "gather", "weight_gradient")                                           \
    OF_HIDDEN(z, OF_BATCH, "linear[i]", "relu[i]")                                                                     \
    OF_HIDDEN(a, OF_BATCH, "relu[i]", "relu_gradient[depth - 2 - i]")                                                  \
    TEMPORARY(float, logits, "4 * batch * 10", "last_linear", "softmax_loss")                                          \
    TEMPORARY(float, last_delta, "4 * batch * 10", "softmax_loss", "input_gradient[0]")                                \
    OF_HIDDEN(dx, OF_BATCH, "input_gradient[i]", "relu_gradient[i]")                                                   \
    OF_HIDDEN(delta, OF_BATCH, "relu_gradient[depth - 2 - i]", "bias_gradient[min(depth - 2, depth - 1 - i)]")         \
    TEMPORARY(float, last_dw, "40 * width", "last_weight_gradient", "update")                                          \
    TEMPORARY(float, last_db, "40", "last_bias_gradient", "update")                                                    \
    OF_HIDDEN(dw, "4 * width * (784 * (i == 0) + width * (i > 0))", "weight_gradient[depth - 2 - i]", "update[i]")     \
    OF_HIDDEN(db, "4 * width", "bias_gradient[depth - 2 - i]", "update[i]")
#include "mlp_train.cuh"

constexpr unsigned THREADS = 256, TILE = 16;
static_assert(THREADS == TILE * TILE, "one thread per element of a tile");

#define LAST (DEPTH - 1)
#define BEFORE (DEPTH - 2 - index)  // in launch `index` of the way back
#define INPUT(layer) ((layer) == 0 ? pixels : a[(layer) - 1])
#define KERNELS_OF_gather(bounds) \
    SINGLE_KERNEL_OF(gather, gather, bounds, OF_IMAGES(forward_op(LAYER(0), x, pixels)))
#define KERNELS_OF_linear(bounds)                                                           \
    KERNEL_OF(linear, linear, bounds, forward_op(LAYER(index), INPUT(index), z[index]))     \
    SINGLE_KERNEL_OF(last_linear, linear, bounds, forward_op(LAYER(LAST), INPUT(LAST), logits))
#define KERNELS_OF_relu(bounds) KERNEL_OF(relu, relu, bounds, forward_op(LAYER(index), z[index], a[index]))
#define KERNELS_OF_softmax_loss(bounds)              \
    SINGLE_KERNEL_OF(softmax_loss, softmax_loss, bounds, \
                     with_loss(OF_IMAGES(backward_op(LAYER(LAST), logits, last_delta, nullptr)), loss + step))
#define KERNELS_OF_input_gradient(bounds)              \
    KERNEL_OF(input_gradient, input_gradient, bounds, \
              backward_op(LAYER(BEFORE + 1), nullptr, index == 0 ? last_delta : delta[BEFORE + 1], dx[index]))
#define KERNELS_OF_relu_gradient(bounds)             \
    KERNEL_OF(relu_gradient, relu_gradient, bounds, \
              backward_op(LAYER(BEFORE), a[BEFORE], dx[index], delta[BEFORE]))
#define GRADIENTS_OF(operator, bounds)                                                                                 \
    KERNEL_OF(operator, operator, bounds,                                                                              \
              gradient_op(LAYER(BEFORE), INPUT(BEFORE), delta[BEFORE], dw[BEFORE], db[BEFORE]))                        \
    SINGLE_KERNEL_OF(last_##operator, operator, bounds,                                                                \
                     gradient_op(LAYER(LAST), INPUT(LAST), last_delta, last_dw, last_db))
#define KERNELS_OF_weight_gradient(bounds) GRADIENTS_OF(weight_gradient, bounds)
#define KERNELS_OF_bias_gradient(bounds) GRADIENTS_OF(bias_gradient, bounds)
// The grid is that of the largest layer.
#define KERNELS_OF_update(bounds)                                                                                      \
    extern "C" __global__ void __launch_bounds__ bounds update(KERNEL_ARGUMENTS, int index) {                          \
        const bool is_last = index == LAST;                                                                            \
        const op_t p = gradient_op(LAYER(index), nullptr, nullptr, is_last ? last_dw : dw[index],                      \
                                   is_last ? last_db : db[index]);                                                     \
        if (blockIdx.x < p.n_out * tiles(p.n_in, THREADS))                                                             \
            update_of(p);                                                                                              \
    }

constexpr unsigned LARGEST = WIDTH > PIXELS ? WIDTH : PIXELS, OF_ROW = tiles(WIDTH, THREADS);
__host__ __device__ constexpr unsigned squares(unsigned rows, unsigned columns) {
    return tiles(rows, TILE) * tiles(columns, TILE);
}
#define UNFUSED_LAUNCHES                                                                                               \
    launch_of("gather", THREADS, BATCH),                                                                         \
        indexed("depth - 1", launch_of("linear", THREADS, squares(BATCH, WIDTH))),                               \
        in_turn(launch_of("relu", THREADS, BATCH * OF_ROW)),                                                     \
        launch_of("last_linear", THREADS, squares(BATCH, CLASSES)), launch_of("softmax_loss", THREADS, 1), \
        launch_of("last_weight_gradient", THREADS, squares(CLASSES, WIDTH)),                                     \
        launch_of("last_bias_gradient", THREADS, 1),                                                             \
        indexed("depth - 1", launch_of("input_gradient", THREADS, squares(BATCH, WIDTH))),                       \
        in_turn(launch_of("relu_gradient", THREADS, BATCH * OF_ROW)),                                            \
        in_turn(launch_of("weight_gradient", THREADS, squares(WIDTH, LARGEST))),                                 \
        in_turn(launch_of("bias_gradient", THREADS, OF_ROW)),                                                    \
        indexed("depth", launch_of("update", THREADS,                                                            \
                                         (WIDTH > CLASSES ? WIDTH : CLASSES) * tiles(LARGEST, THREADS)))

// y = the images of the batch, one per block.
OPERATOR(gather, THREADS) {
    const float *from = p.x + source_row(p, blockIdx.x) * PIXELS;
    float *to = p.y + (size_t)blockIdx.x * PIXELS;
    for (unsigned i = threadIdx.x; i < PIXELS; i += THREADS)
        to[i] = from[i];
}

OPERATOR(relu, THREADS) {
    const tile_t tile = tile_of(blockIdx.x, 1, THREADS, p.n_out);
    const unsigned column = tile.column + threadIdx.x;
    const size_t i = (size_t)tile.row * p.n_out + column;
    if (column < p.n_out)
        p.y[i] = fmaxf(p.x[i], 0.0f);
}

// One block: the mean loss of the batch, and its gradient by the logits.
OPERATOR(softmax_loss, THREADS) {
    float sum = 0;
    for (unsigned row = threadIdx.x; row < p.rows; row += THREADS) {
        float logit[CLASSES], delta[CLASSES];
        load_logits(p, row, logit);
        sum += cross_entropy(logit, p.labels[source_row(p, row)], delta);
#pragma unroll
        for (unsigned k = 0; k < CLASSES; k++)
            p.dy[(size_t)row * CLASSES + k] = delta[k] / p.rows;
    }
    sum = block_sum<THREADS>(sum);
    if (threadIdx.x == 0)
        *p.loss = sum / p.rows;
}

OPERATOR(relu_gradient, THREADS) {
    const tile_t tile = tile_of(blockIdx.x, 1, THREADS, p.n_out);
    const unsigned column = tile.column + threadIdx.x;
    const size_t i = (size_t)tile.row * p.n_out + column;
    if (column < p.n_out)
        p.dx[i] = p.x[i] > 0 ? p.dy[i] : 0.0f;
}

OPERATOR(bias_gradient, THREADS) {
    const unsigned column = blockIdx.x * THREADS + threadIdx.x;
    if (column >= p.n_out)
        return;
    p.db[column] = sum_over_rows(
        p.rows, [&](unsigned row, float sum) { return sum + p.dy[(size_t)row * p.n_out + column]; });
}

OPERATOR(update, THREADS) {
    const tile_t tile = tile_of(blockIdx.x, 1, THREADS, p.n_in);
    const unsigned column = tile.column + threadIdx.x;
    const size_t i = (size_t)tile.row * p.n_in + column;
    if (column < p.n_in)
        p.w[i] = fmaf(-p.rate, p.dw[i], p.w[i]);
    if (column == 0)
        p.b[tile.row] = fmaf(-p.rate, p.db[tile.row], p.b[tile.row]);
}
