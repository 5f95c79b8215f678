// Idea    As in the study: one thread per element of a result, which computes the whole sum, and one kernel per
//         operator, as in PyTorch's eager mode.
// Change  None: the start of the ladder.
// Buys    Nothing. Width 784, batch 64: 8 products of 39 M multiply-adds with two loads each. Forward, where neighbours
//         read rows of W 3 KB apart, a load touches 16 lines: about 90 us each; the others, along rows, about 20. With
//         19 small operators of about 3 us each in a stream, 430 us per step, 400 ms per epoch. Measured: 469 us
//         (H200).
// Limits  Loads: two per multiply-add. At the chip's 60 TFLOP/s a product takes 1.3 us.
#include "unfused.cuh"

LAUNCHES = {UNFUSED_LAUNCHES};

// y[row][out] = x[row] . w[out] + b[out]
OPERATOR(linear, THREADS) {
    const tile_t tile = tile_of(blockIdx.x, TILE, TILE, p.n_out);
    const unsigned row = tile.row + threadIdx.x / TILE, out = tile.column + threadIdx.x % TILE;
    if (row >= p.rows || out >= p.n_out)
        return;
    const float *x = p.x + source_row(p, row) * p.n_in, *w = p.w + (size_t)out * p.n_in;
    float sum = 0;
    for (unsigned k = 0; k < p.n_in; k++)
        sum = fmaf(x[k], w[k], sum);
    p.y[(size_t)row * p.n_out + out] = sum + p.b[out];
}

// dx[row][in] = sum over out of dy[row][out] w[out][in]
OPERATOR(input_gradient, THREADS) {
    const tile_t tile = tile_of(blockIdx.x, TILE, TILE, p.n_in);
    const unsigned row = tile.row + threadIdx.x / TILE, in = tile.column + threadIdx.x % TILE;
    if (row >= p.rows || in >= p.n_in)
        return;
    const float *dy = p.dy + (size_t)row * p.n_out, *w = p.w + in;
    float sum = 0;
    for (unsigned k = 0; k < p.n_out; k++)
        sum = fmaf(dy[k], w[(size_t)k * p.n_in], sum);
    p.dx[(size_t)row * p.n_in + in] = sum;
}

// dw[out][in] = sum over rows of dy[row][out] x[row][in]
OPERATOR(weight_gradient, THREADS) {
    const tile_t tile = tile_of(blockIdx.x, TILE, TILE, p.n_in);
    const unsigned out = tile.row + threadIdx.x / TILE, in = tile.column + threadIdx.x % TILE;
    if (out >= p.n_out || in >= p.n_in)
        return;
    p.dw[(size_t)out * p.n_in + in] = sum_over_rows(p.rows, [&](unsigned row, float sum) {
        return fmaf(p.dy[(size_t)row * p.n_out + out], p.x[source_row(p, row) * p.n_in + in], sum);
    });
}
