// What the rungs of mlp_train share: the operators' argument, and the small operators.
//   784 - WIDTH - … - WIDTH - 10, DEPTH matrices, y = W x + b, ReLU after all but the last, cross-entropy over the
//   softmax, mean over the rows of the batch; w -= rate * dw. All of it float32.
// A rung defines STAGES: kernels named like operators (listed, with the optional ones, in
// bench/workloads/mlp_train/operators.h), each with its tile: grid = tiles of the result x split. The host calls them
// in PyTorch's order and allocates their results. WIDTH, DEPTH, BATCH and DTYPE_TF32 come from the workload's
// descriptor. The last batch of an epoch may be smaller, the validation's is larger: kernels accept any number of rows.
#pragma once
#ifdef WORKLOAD_ARGUMENTS
// In which the blocks of a launch for all steps exchange activations and deltas.
#define STEPS_MEMORY(rows) TEMPORARY(float, memory, "4 * " #rows " * (3 * (depth - 1) * width + 16)", "train_steps")
#include "../common/workload.cuh"
#else
#include "../common/launch.cuh"
#endif

#include "../common/cross_entropy.cuh"
#include "../common/warp.cuh"

// A rung with tf32 tensor cores defines TAKES_TF32 before it includes this file.
#if defined(TAKES_TF32) && !DTYPE_TF32
#error SKIP: for dtype tf32 only
#elif !defined(TAKES_TF32) && DTYPE_TF32
#error SKIP: its products are float32
#endif

constexpr unsigned PIXELS = 784, CLASSES = 10;

enum op_flag {
    OP_FIRST_LAYER = 1,  // x are the images, which never change; the previous kernel may still be changing w
};

struct op_t {
    const float *x;               // (rows, n_in), the layer's input
    const unsigned *order;        // image of each row, for labels and for x if it is the images; null: row r is image r
    float *w, *b;                 // (n_out, n_in) row-major, (n_out)
    float *y;                     // (rows, n_out), its output
    float *dy;                    // (rows, n_out), gradient by W x + b
    float *dx;                    // (rows, n_in), gradient by x
    float *dw, *db;               // gradients by w and b; in rungs that update at once, null except in the check
    const unsigned char *labels;  // one per image
    float *loss;
    unsigned rows, n_in, n_out, flags;
    unsigned first_block;  // of this layer, in a launch of several layers
    float rate;
};

// For a launch of all layers.
struct layers_t {
    const float *row_losses;  // or null
    float *loss;              // their mean
    unsigned rows, blocks;    // of all layers; one more block computes the mean
    op_t layer[DEPTH];
};

// For a launch of several steps. Of a layer's operator only w, b, dw, db and rate are used.
struct steps_t {
    float *losses;         // one per step
    float *memory;         // for exchange between the blocks of this launch
    unsigned rows, steps;  // images of all steps; the last step has the remainder
    op_t layer[DEPTH];     // the first also has the images and their order for all steps; the last the labels
};

// bench/workloads/mlp_train/operators.h mirrors them, with the same assertions.
static_assert(sizeof(op_t) == 112 && sizeof(layers_t) == 24 + DEPTH * sizeof(op_t), "the host's layout");
static_assert(sizeof(steps_t) == sizeof(layers_t), "the host's layout");

#ifdef WORKLOAD_ARGUMENTS
#include "described.cuh"
#else
#define OPERATOR(name, threads) extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ op_t p)

// For STAGES: a block computes `rows` x `columns` of the result; 0: all of them.
#define STEPS_KERNEL(cluster, threads)                                                            \
    extern "C" __global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(threads, 1) \
        train_steps(const __grid_constant__ steps_t p)
#define OPERATOR_STAGE(name, threads, rows, columns) {name, STAGE_EPOCH, 0, threads, 1, 0, 0, 0, rows, columns, 1}
#endif

__device__ __forceinline__ size_t source_row(const op_t &p, unsigned row) {
    return p.order != nullptr ? p.order[row] : row;
}

// The block's tile of a result with `all_columns` columns; tiles are numbered along rows.
struct tile_t {
    unsigned row, column;
};
__device__ __forceinline__ tile_t tile_of(unsigned block, unsigned rows, unsigned columns, unsigned all_columns) {
    const unsigned across = (all_columns + columns - 1) / columns;
    return {block / across * rows, block % across * columns};
}

// Rows that are summed separately: one float32 sum over 60000 loses four of its seven digits.
constexpr unsigned ROWS_OF_SUM = 256;

// Sums over all rows; term(row, sum) adds a row's term.
template <class Term> __device__ __forceinline__ float sum_over_rows(unsigned rows, Term term) {
    float sum = 0;
    for (unsigned first = 0; first < rows; first += ROWS_OF_SUM) {
        float partial = 0;
        for (unsigned row = first; row < min(first + ROWS_OF_SUM, rows); row++)
            partial = term(row, partial);
        sum += partial;
    }
    return sum;
}

// Sums one value per thread, in a fixed order; the result is in thread 0.
template <unsigned THREADS> __device__ __forceinline__ float block_sum(float value) {
    __shared__ float of_warp[THREADS / 32];
    value = warp_sum(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (unsigned warp = 0; warp < THREADS / 32 && threadIdx.x == 0; warp++)
        sum += of_warp[warp];
    return sum;
}

__device__ __forceinline__ void load_logits(const op_t &p, unsigned row, float (&logit)[CLASSES]) {
#pragma unroll
    for (unsigned k = 0; k < CLASSES; k++)
        logit[k] = p.x[(size_t)row * CLASSES + k];
}

#ifndef WORKLOAD_ARGUMENTS
// ---- validate: loss[0] = sum of the losses, loss[1] = rows whose largest logit is their label's ----------------

constexpr unsigned VALIDATE_THREADS = 1024;
#define VALIDATE_STAGE {"validate", STAGE_AFTER, 0, VALIDATE_THREADS, 1, 0, 0, 0, 0, 0, 1}

OPERATOR(validate, VALIDATE_THREADS) {
    float sum = 0, right = 0;
    for (unsigned row = threadIdx.x; row < p.rows; row += VALIDATE_THREADS) {
        float logit[CLASSES], delta[CLASSES];
        load_logits(p, row, logit);
        const unsigned label = p.labels[source_row(p, row)];
        sum += cross_entropy(logit, label, delta);
        unsigned best = 0;
        float largest = logit[0];
#pragma unroll
        for (unsigned k = 1; k < CLASSES; k++) {
            best = logit[k] > largest ? k : best;
            largest = fmaxf(largest, logit[k]);
        }
        right += best == label ? 1.0f : 0.0f;
    }
    sum = block_sum<VALIDATE_THREADS>(sum);
    right = block_sum<VALIDATE_THREADS>(right);
    if (threadIdx.x == 0) {
        p.loss[0] = sum;
        p.loss[1] = right;
    }
}
#endif
