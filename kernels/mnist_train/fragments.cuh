// What rungs 05 and 06 share: weights as fragments of a warp, in device memory too, and sums over warps.
#pragma once

__device__ __forceinline__ unsigned lane_of() {
    return threadIdx.x % 32;
}
__device__ __forceinline__ unsigned warp_of() {
    return threadIdx.x / 32;
}
// Calls use(word, row, column) for each pair of halves of a lane's fragment.
template <class Use> __device__ __forceinline__ void each_word(unsigned row, unsigned column, Use use) {
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        use(k, row + lane_of() / 4 + k % 2 * 8, column + lane_of() % 4 * 2 + k / 2 * 8);
}

// A matrix, or the transpose of one, in device memory.
struct view_t {
    const half *w;
    unsigned row_step, column_step, rows, columns;
};

// The fragment at (row, column); 0 outside the matrix.
__device__ __forceinline__ void load_weights(fragment_t &to, const view_t &m, unsigned row, unsigned column) {
    each_word(row, column, [&](unsigned word, unsigned r, unsigned c) {
        half2 pair = __float2half2_rn(0);
        if (r < m.rows && c < m.columns)
            pair.x = m.w[(size_t)r * m.row_step + (size_t)c * m.column_step];
        if (r < m.rows && c + 1 < m.columns)
            pair.y = m.w[(size_t)r * m.row_step + (size_t)(c + 1) * m.column_step];
        to[word] = *(const unsigned *)&pair;
    });
}

__device__ __forceinline__ void store_weights(const fragment_t &from, half *w, unsigned rows, unsigned columns,
                                              unsigned row, unsigned column) {
    each_word(row, column, [&](unsigned word, unsigned r, unsigned c) {
        if (r < rows && c < columns)  // columns are even
            *(unsigned *)(w + (size_t)r * columns + c) = from[word];
    });
}

// Sums of each warp for 16 neurons (or classes) of all images. Two rows cover all banks; the next two are swapped, so
// that four rows of 8 neurons lie in different ones.
typedef float partial_t[WARPS][ROWS][PADDED_CLASSES];

__device__ __forceinline__ unsigned place_in_row(unsigned row, unsigned column) {
    return column ^ row / 2 % 2 * 8;
}

__device__ __forceinline__ void put_sums(partial_t &partial, const tile_t (&sums)[2][2]) {
    const unsigned row = lane_of() / 4, column = place_in_row(row, lane_of() % 4 * 2);
#pragma unroll
    for (unsigned m = 0; m < 2; m++)
#pragma unroll
        for (unsigned n = 0; n < 2; n++) {
            *(float2 *)&partial[warp_of()][m * 16 + row][column ^ n * 8] = sums[m][n].upper();
            *(float2 *)&partial[warp_of()][m * 16 + row + 8][column ^ n * 8] = sums[m][n].lower();
        }
}

// Sums over all warps for neurons `column` and the next.
__device__ __forceinline__ float2 total(const partial_t &partial, unsigned row, unsigned column) {
    float2 sums[WARPS];
#pragma unroll
    for (unsigned warp = 0; warp < WARPS; warp++)
        sums[warp] = *(const float2 *)&partial[warp][row][place_in_row(row, column)];
#pragma unroll
    for (unsigned n = WARPS / 2; n > 0; n /= 2)
#pragma unroll
        for (unsigned k = 0; k < n; k++)
            sums[k] = make_float2(sums[k].x + sums[k + n].x, sums[k].y + sums[k + n].y);
    return sums[0];
}

__device__ __forceinline__ unsigned updated_pair(unsigned weights, float2 sums, float rate) {
    return updated_pair(weights, sums.x, sums.y, rate);
}

// By eight lanes per image, each with the logits of classes k and k + 1: their deltas, 0 for padding. Returns the
// image's loss in the lane of its label, else 0.
__device__ __forceinline__ float softmax_pair(half2 &delta, float2 logit, unsigned row, unsigned k, unsigned label) {
    const bool real = k < CLASSES, is_first = k == label, is_second = k + 1 == label;
    const float largest = over_lanes<8>(real ? fmaxf(logit.x, logit.y) : -3.402823466e+38f,
                                        [](float a, float b) { return fmaxf(a, b); });
    const float2 power = make_float2(real ? __expf(logit.x - largest) : 0, real ? __expf(logit.y - largest) : 0);
    const float sum = sum_over_lanes<8>(power.x + power.y);
    const float scale = row < BATCH ? __fdividef(1, sum) : 0, one = row < BATCH ? 1 : 0;
    delta = __floats2half2_rn(power.x * scale - (is_first ? one : 0), power.y * scale - (is_second ? one : 0));
    return row < BATCH && (is_first || is_second) ? __logf(sum) + largest - (is_first ? logit.x : logit.y) : 0;
}

// In the first block: the sum of each warp's losses, for write_loss() after a barrier.
__device__ __forceinline__ void sum_losses(float (&losses)[WARPS], float loss) {
    if (blockIdx.x != 0)
        return;
    loss = warp_sum(loss);
    if (lane_of() == 0)
        losses[warp_of()] = loss;
}

__device__ __forceinline__ void write_loss(const mnist_t &p, const float (&losses)[WARPS], unsigned step) {
    if (blockIdx.x != 0 || threadIdx.x != 0)
        return;
    float sum = 0;
#pragma unroll
    for (unsigned warp = 0; warp < WARPS; warp++)
        sum += losses[warp];
    p.losses[step] = sum / BATCH;
}
