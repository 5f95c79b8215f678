// One kernel per operator, as in PyTorch's eager mode: all but the matrix products (linear, input_gradient,
// weight_gradient), which the rung defines.
#pragma once
#include "mlp_train.cuh"

constexpr unsigned THREADS = 256, TILE = 16;
static_assert(THREADS == TILE * TILE, "one thread per element of a tile");

#define UNFUSED_STAGES                                          \
    OPERATOR_STAGE("linear", THREADS, TILE, TILE),              \
        OPERATOR_STAGE("input_gradient", THREADS, TILE, TILE),  \
        OPERATOR_STAGE("weight_gradient", THREADS, TILE, TILE), \
        OPERATOR_STAGE("gather", THREADS, 1, 0),                \
        OPERATOR_STAGE("relu", THREADS, 1, THREADS),            \
        OPERATOR_STAGE("softmax_loss", THREADS, 0, 0),          \
        OPERATOR_STAGE("relu_gradient", THREADS, 1, THREADS),   \
        OPERATOR_STAGE("bias_gradient", THREADS, 1, THREADS),   \
        OPERATOR_STAGE("update", THREADS, 1, THREADS), VALIDATE_STAGE

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
