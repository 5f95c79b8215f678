// Gradients of all weights and biases and the update in one launch: no gradient goes to memory. A block has 64 x 64 of
// one layer's weights, a thread 8 x 8. A thread sums over the batch row by row.
#pragma once
#include "tiles.cuh"

constexpr unsigned LAYER_TILE = 64, LAYER_THREADS = 64, BATCH_CHUNK = 32, LAYER_SLOTS = 2;
constexpr unsigned CHUNK_ROW = LAYER_TILE + (DTYPE_TF32 ? 8 : 0);  // tensor cores: four rows start in different banks
constexpr unsigned CHUNK_FLOATS = BATCH_CHUNK * CHUNK_ROW;         // of dy or x
constexpr unsigned LAYER_SHARED = sizeof(float) * (LAYER_SLOTS * 2 * CHUNK_FLOATS + LAYER_TILE * LAYER_TILE);

typedef float gradient_t[8][8];

// A thread's eight rows or columns: four, and four half a tile further.
__device__ __forceinline__ unsigned own(unsigned thread, unsigned k) {
    return 4 * thread + k % 4 + k / 4 * (LAYER_TILE / 2);
}

__device__ __forceinline__ void load_eight(const float *row, unsigned thread, float (&to)[8]) {
    const float4 low = as_float4(row + 4 * thread), high = as_float4(row + 4 * thread + LAYER_TILE / 2);
    to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
    to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}

__device__ __forceinline__ void copy_dy(float *slot, const op_t &p, const tile_t &tile, unsigned chunk, unsigned rows) {
    const part_t part = {p.dy, nullptr, p.n_out, chunk * BATCH_CHUNK, rows, tile.row, p.n_out};
    if (WORDS == 4 && p.n_out % 4 == 0)
        copy_tile<BATCH_CHUNK, LAYER_TILE, CHUNK_ROW, LAYER_THREADS, WORDS>(slot, part);
    else
        copy_tile<BATCH_CHUNK, LAYER_TILE, CHUNK_ROW, LAYER_THREADS, 1>(slot, part);
}

__device__ __forceinline__ void copy_x(float *slot, const op_t &p, const tile_t &tile, unsigned chunk, unsigned rows) {
    const part_t part = {p.x, p.order, p.n_in, chunk * BATCH_CHUNK, rows, tile.column, p.n_in};
    copy_tile<BATCH_CHUNK, LAYER_TILE, CHUNK_ROW, LAYER_THREADS, WORDS>(slot + CHUNK_FLOATS, part);
}

#if DTYPE_TF32
#include "tf32_layers.cuh"
#else
// BIAS: also sums dy.
template <bool BIAS>
__device__ __forceinline__ void add_rows(const float *slot, unsigned rows, gradient_t &gradient, float (&bias)[8]) {
    const unsigned y = threadIdx.x / 8, x = threadIdx.x % 8;
#pragma unroll 4
    for (unsigned r = 0; r < rows; r++) {
        float a[8], b[8];
        load_eight(slot + r * CHUNK_ROW, y, a);
        load_eight(slot + CHUNK_FLOATS + r * CHUNK_ROW, x, b);
#pragma unroll
        for (unsigned i = 0; i < 8; i++) {
            if (BIAS)
                bias[i] += a[i];
#pragma unroll
            for (unsigned j = 0; j < 8; j++)
                gradient[i][j] = fmaf(a[i], b[j], gradient[i][j]);
        }
    }
}

__device__ __forceinline__ void redistribute(float *, gradient_t &) {}
#endif

// Two levels of sums for long batches (ROWS_OF_SUM), with twice the registers.
constexpr bool LONG_SUMS = BATCH > 8 * ROWS_OF_SUM;

// `to` += `from`; clears `from`.
__device__ __forceinline__ void add_sums(gradient_t &from, float (&from_bias)[8], gradient_t &to,
                                         float (&to_bias)[8]) {
#pragma unroll
    for (unsigned i = 0; i < 8; i++) {
        to_bias[i] += from_bias[i], from_bias[i] = 0;
#pragma unroll
        for (unsigned j = 0; j < 8; j++)
            to[i][j] += from[i][j], from[i][j] = 0;
    }
}

// The previous kernel writes only dy: inputs and weights are copied before the wait for it.
__device__ __forceinline__ void add_batch(float *memory, const op_t &p, const tile_t &tile, unsigned rows,
                                          gradient_t &gradient, float (&bias)[8]) {
    constexpr unsigned SLOT = 2 * CHUNK_FLOATS;
    const unsigned chunks = (rows + BATCH_CHUNK - 1) / BATCH_CHUNK;
    gradient_t all_rows = {};
    float all_biases[8] = {};
    const part_t weights = {p.w, nullptr, p.n_in, tile.row, p.n_out, tile.column, p.n_in};
    copy_tile<LAYER_TILE, LAYER_TILE, LAYER_TILE, LAYER_THREADS, WORDS>(memory + LAYER_SLOTS * SLOT, weights);
    for (unsigned chunk = 0; chunk < min(chunks, LAYER_SLOTS); chunk++)
        copy_x(memory + chunk * SLOT, p, tile, chunk, rows);
    wait_for_earlier_kernels();
#pragma unroll
    for (unsigned chunk = 0; chunk < LAYER_SLOTS; chunk++) {
        if (chunk < chunks)
            copy_dy(memory + chunk * SLOT, p, tile, chunk, rows);
        end_copy_group();
    }
    for (unsigned chunk = 0; chunk < chunks; chunk++) {
        float *slot = memory + chunk % LAYER_SLOTS * SLOT;
        const unsigned left = min(rows - chunk * BATCH_CHUNK, BATCH_CHUNK);
        wait_for_copies<LAYER_SLOTS - 1>();
        __syncthreads();
        if (tile.column == 0)
            add_rows<true>(slot, left, gradient, bias);
        else
            add_rows<false>(slot, left, gradient, bias);
        if (LONG_SUMS && (chunk + 1) * BATCH_CHUNK % ROWS_OF_SUM == 0)
            add_sums(gradient, bias, all_rows, all_biases);
        if (chunk + LAYER_SLOTS < chunks) {
            __syncthreads();
            copy_dy(slot, p, tile, chunk + LAYER_SLOTS, rows);
            copy_x(slot, p, tile, chunk + LAYER_SLOTS, rows);
        }
        end_copy_group();
    }
    if (LONG_SUMS)
        add_sums(all_rows, all_biases, gradient, bias);
    redistribute(memory, gradient);
}

__device__ __forceinline__ void update_weights(const float *weights, const op_t &p, const tile_t &tile,
                                               const gradient_t &gradient) {
    const unsigned y = threadIdx.x / 8, x = threadIdx.x % 8;
#pragma unroll
    for (unsigned i = 0; i < 8; i++) {
        const unsigned row = tile.row + own(y, i);
        if (row >= p.n_out)
            continue;
#pragma unroll
        for (unsigned j = 0; j < 8; j += 4) {
            const float4 w = as_float4(weights + own(y, i) * LAYER_TILE + own(x, j));
            const float *g = &gradient[i][j];
            const float4 updated = make_float4(fmaf(-p.rate, g[0], w.x), fmaf(-p.rate, g[1], w.y),
                                               fmaf(-p.rate, g[2], w.z), fmaf(-p.rate, g[3], w.w));
            store_four(p.w + (size_t)row * p.n_in, tile.column + own(x, j), p.n_in, updated);
        }
    }
}

__device__ __forceinline__ void update_biases(const op_t &p, const tile_t &tile, const float (&bias)[8]) {
    const unsigned y = threadIdx.x / 8;
#pragma unroll
    for (unsigned i = 0; i < 8; i++) {
        const unsigned row = tile.row + own(y, i);
        if (threadIdx.x % 8 != 0 || tile.column != 0 || row >= p.n_out)
            continue;
        p.b[row] = fmaf(-p.rate, bias[i], p.b[row]);
    }
}

// In one block.
__device__ __forceinline__ void mean_of_losses(const float *row_losses, unsigned rows, float *loss) {
    wait_for_earlier_kernels();
    float sum = 0;
    for (unsigned row = threadIdx.x; row < rows; row += LAYER_THREADS)
        sum += __ldcg(row_losses + row);
    sum = block_sum<LAYER_THREADS>(sum);
    if (threadIdx.x == 0)
        *loss = sum / rows;
}

__device__ __forceinline__ void train_tile(const op_t &p, unsigned block, unsigned rows) {
    const tile_t tile = tile_of(block, LAYER_TILE, LAYER_TILE, p.n_in);
    gradient_t gradient = {};
    float bias[8] = {}, *memory = (float *)shared_memory;
    add_batch(memory, p, tile, rows, gradient, bias);
    update_weights(memory + LAYER_SLOTS * 2 * CHUNK_FLOATS, p, tile, gradient);
    update_biases(p, tile, bias);
}

// The first block of a layer; of layer DEPTH: how many blocks layers have. One more computes the mean of the losses.
__host__ __device__ constexpr unsigned first_block(unsigned layer) {
    constexpr unsigned ACROSS = tiles(WIDTH, LAYER_TILE);
    return layer == 0 ? 0
                      : ACROSS * tiles(PIXELS, LAYER_TILE) + ((layer < DEPTH ? layer : DEPTH - 1) - 1) * ACROSS * ACROSS +
                            (layer < DEPTH ? 0 : tiles(CLASSES, LAYER_TILE) * ACROSS);
}

BOUNDED_KERNEL(train_layers, LAYER_THREADS) {
    unsigned layer = 0;
#pragma unroll
    for (unsigned l = 1; l < DEPTH; l++)
        layer += blockIdx.x >= first_block(l);
    const op_t p = LAYER(layer);
    if (blockIdx.x == first_block(DEPTH))
        mean_of_losses(row_losses, p.rows, loss + step);
    else
        train_tile(gradient_op(layer == 0 ? OF_IMAGES(p) : p, layer == 0 ? x : a[layer - 1],
                               layer == DEPTH - 1 ? last_delta : delta[layer], nullptr, nullptr),
                   blockIdx.x - first_block(layer), p.rows);
}
