// What the rungs share: the operators' argument, made from a kernel's parameters, and how kernels are launched.
//   784 - WIDTH - … - WIDTH - 10, DEPTH matrices, y = W x + b, ReLU after all but the last, cross-entropy over the
//   softmax, mean over the rows of the batch; w -= rate * dw. All of it float32.
// Each operator of rungs 01 to 04 and 06 is one launch, or more, and its result a temporary of its layer. The last batch
// may have fewer images; then kernels compute too many rows, which nobody reads, and the last numbers of `order` are those
// of some images.
#pragma once
// In which the blocks of a launch for all steps exchange activations and deltas.
#define STEPS_MEMORY(rows) TEMPORARY(float, memory, "4 * " #rows " * (3 * (depth - 1) * width + 16)", "train_steps")
#include "../common/workload.cuh"

#include "../common/cross_entropy.cuh"
#include "../common/warp.cuh"

// A rung with tf32 tensor cores defines TAKES_TF32 before it includes this file.
#if defined(TAKES_TF32) && !DTYPE_TF32
#error SKIP: for dtype tf32 only
#elif !defined(TAKES_TF32) && DTYPE_TF32
#error SKIP: for dtype f32 only
#endif

constexpr unsigned PIXELS = 784, CLASSES = 10;

struct op_t {
    const float *x;               // (rows, n_in), the layer's input
    const unsigned *order;        // image of each row, for labels and for x if it is the images; null: row r is image r
    float *w, *b;                 // (n_out, n_in) row-major, (n_out)
    float *y;                     // (rows, n_out), its output
    float *dy;                    // (rows, n_out), gradient by W x + b
    float *dx;                    // (rows, n_in), gradient by x
    float *dw, *db;               // gradients by w and b
    const unsigned char *labels;  // one per image
    float *loss;
    unsigned rows, n_in, n_out;
    bool is_first;  // x are the images, which never change; the previous kernel may still be changing w
    float rate;
};

// For a launch of all steps. Lists stay where parameters are: in a copy, indices that are not constants are local memory.
struct steps_t {
    const array_list<float, DEPTH> &w, &b;
    const float *x;
    const unsigned *order;  // of all steps
    const unsigned char *labels;
    float *losses;         // one per step
    float *memory;         // for exchange between the blocks of this launch
    unsigned rows, steps;  // images of all steps; the last step has the remainder
    float rate;
};

__device__ __forceinline__ op_t layer_op(float *w, float *b, unsigned layer, long long rows, float rate) {
    op_t p = {};
    p.w = w, p.b = b;
    p.rows = (unsigned)(rows < BATCH ? rows : BATCH);
    p.n_in = layer == 0 ? PIXELS : WIDTH;
    p.n_out = layer == DEPTH - 1 ? CLASSES : WIDTH;
    p.is_first = layer == 0;
    p.rate = rate;
    return p;
}
__device__ __forceinline__ op_t forward_op(op_t p, const float *x, float *y) {
    p.x = x, p.y = y;
    return p;
}
__device__ __forceinline__ op_t backward_op(op_t p, const float *x, float *dy, float *dx) {
    p.x = x, p.dy = dy, p.dx = dx;
    return p;
}
__device__ __forceinline__ op_t gradient_op(op_t p, const float *x, float *dy, float *dw, float *db) {
    p.x = x, p.dy = dy, p.dw = dw, p.db = db;
    return p;
}
__device__ __forceinline__ op_t with_loss(op_t p, float *loss) {
    p.loss = loss;
    return p;
}
__device__ __forceinline__ op_t with_images(op_t p, const int *order, const unsigned char *labels) {
    p.order = (const unsigned *)order, p.labels = labels;
    return p;
}

// In a kernel: a layer, and the images of the step.
#define LAYER(layer) layer_op(w[layer], b[layer], layer, images - (long long)step * BATCH, rate)
#define OF_IMAGES(op) with_images(op, order + (size_t)step * BATCH, labels)

// A kernel of an operator: `index` is the launch's, or 0.
#define KERNEL_OF(name, operator, bounds, op)                                                                          \
    extern "C" __global__ void __launch_bounds__ bounds name(KERNEL_ARGUMENTS, int index) {                            \
        const op_t p = op;                                                                                             \
        operator##_of(p);                                                                                              \
    }
#define SINGLE_KERNEL_OF(name, operator, bounds, op)                                                                   \
    extern "C" __global__ void __launch_bounds__ bounds name(KERNEL_ARGUMENTS) {                                       \
        const op_t p = op;                                                                                             \
        operator##_of(p);                                                                                              \
    }
// KERNELS_OF_linear((THREADS)) makes those of the operator `linear`.
#define BOUNDED_OPERATOR(name, bounds)                                                                                 \
    __device__ __forceinline__ void name##_of(const op_t &p);                                                          \
    KERNELS_OF_##name(bounds) __device__ __forceinline__ void name##_of(const op_t &p)
#define OPERATOR(name, threads) BOUNDED_OPERATOR(name, (threads))

// A launch for all steps.
#define STEPS_KERNEL(threads)                                                                                          \
    __device__ __forceinline__ void train_all(const steps_t &p);                                                       \
    BOUNDED_KERNEL(train_steps, threads, 1) {                                                                          \
        train_all({w, b, x, (const unsigned *)order, labels, loss, memory, (unsigned)images, WORKLOAD_STEPS, rate});   \
    }                                                                                                                  \
    __device__ __forceinline__ void train_all(const steps_t &p)
#define STEPS_LAUNCH(threads, blocks, shared, cluster)                                                                 \
    LAUNCHES = {every("ceil_div(images, batch)",                                                                       \
                      launch_of("train_steps", threads, blocks, COOPERATIVE, shared, cluster))}

// ---- launches ---------------------------------------------------------------------------------------------------

enum { COOPERATIVE = 1, OVERLAPS = 2 };

__host__ __device__ constexpr unsigned tiles(unsigned n, unsigned tile) {
    return (n + tile - 1) / tile;
}

__host__ __device__ constexpr described_launch launch_of(described_text<64> entry, unsigned threads,
                                                               unsigned blocks, unsigned how = 0,
                                                               unsigned shared = 0, unsigned cluster = 1) {
    described_launch launch = {};
    for (unsigned i = 0; i < sizeof launch.entry; i++)
        launch.entry[i] = entry.text[i];
    launch.grid[0] = {blocks};
    launch.threads[0] = {threads};
    launch.shared = {shared};
    launch.cluster[0] = {cluster};
    launch.cooperative = (how & COOPERATIVE) != 0;
    launch.overlaps = (how & OVERLAPS) != 0;
    return launch;
}

// ---- parts of operators -----------------------------------------------------------------------------------------

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

