// The rungs as those of a described workload (tests/fixtures/examples/mlp): each operator is one launch, or more, whose
// kernel makes `p` from its parameters. The last batch may have fewer images; then kernels compute too many rows, which
// nobody reads, and the last numbers of `order` are those of some images.
#pragma once

__device__ __forceinline__ op_t layer_op(float *w, float *b, unsigned layer, long long rows, float rate) {
    op_t p = {};
    p.w = w, p.b = b;
    p.rows = (unsigned)(rows < BATCH ? rows : BATCH);
    p.n_in = layer == 0 ? PIXELS : WIDTH;
    p.n_out = layer == DEPTH - 1 ? CLASSES : WIDTH;
    p.flags = layer == 0 ? OP_FIRST_LAYER : 0;
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
#define STEPS_KERNEL(cluster, threads)                                                                                 \
    __device__ __forceinline__ void train_all(const steps_t &p);                                                       \
    BOUNDED_KERNEL(train_steps, threads, 1) {                                                                          \
        steps_t p = {loss, memory, (unsigned)images, WORKLOAD_STEPS};                                                  \
        for (unsigned l = 0; l < DEPTH; l++)                                                                           \
            p.layer[l] = OF_IMAGES(layer_op(w[l], b[l], l, BATCH, rate));                                              \
        p.layer[0].x = x;                                                                                              \
        train_all(p);                                                                                                  \
    }                                                                                                                  \
    __device__ __forceinline__ void train_all(const steps_t &p)
#define STEPS_LAUNCH(threads, blocks, shared, cluster)                                                                 \
    LAUNCHES = {every("ceil_div(images, batch)",                                                                       \
                      operator_launch("train_steps", threads, blocks, STAGE_COOPERATIVE, shared, cluster))}

// ---- launches ---------------------------------------------------------------------------------------------------

__host__ __device__ constexpr unsigned tiles(unsigned n, unsigned tile) {
    return (n + tile - 1) / tile;
}

__host__ __device__ constexpr described_launch operator_launch(described_text<64> entry, unsigned threads,
                                                               unsigned blocks, unsigned flags = 0,
                                                               unsigned shared = 0, unsigned cluster = 1) {
    described_launch launch = {};
    for (unsigned i = 0; i < sizeof launch.entry; i++)
        launch.entry[i] = entry.text[i];
    launch.grid[0] = {blocks};
    launch.threads[0] = {threads};
    launch.shared = {shared};
    launch.cluster[0] = {cluster};
    launch.cooperative = (flags & STAGE_COOPERATIVE) != 0;
    launch.overlaps = (flags & STAGE_OVERLAPPED) != 0;
    return launch;
}
#undef STAGES
#define STAGES LAUNCHES
#undef PLAN
#define PLAN constexpr plan_t plan
