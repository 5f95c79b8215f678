// Idea    Many multiply-adds per load: a thread keeps 56 or 64 sums in registers. Few kernels: each product is followed
//         by its elementwise operators in the same kernel.
// Change  Forward and input gradients: tiles of 64 x 56 (32 rows or 64 columns if the width requires it), each computed
//         by a cluster of up to 8 blocks that split its sum, so that 112 of 132 multiprocessors work
//         (wide_product.cuh). Images are read in place, by index. One kernel for the last layer, the loss and the
//         gradient of the previous layer (last_layer.cuh). One for the gradients of all layers and the update
//         (train_layers.cuh): no weights change before it, so input gradients need not wait. From sm_90 on kernels
//         overlap: each copies what the previous one does not change, then waits for it.
// Buys    DEPTH + 3 launches per step instead of 7 DEPTH - 1: 7 instead of 27. Width 784: a forward or input gradient
//         is 39 M multiply-adds, 2750 cycles at 112 * 128 per cycle; with the wait for the previous kernel (1000),
//         copies (800), two steps of partial sums (1200) and nine tenths of that rate 6000 cycles or 3.1 us; five of
//         them 16 us. The last layer 1.5 us. All gradients: 507 tiles in one wave, 3.84 per multiprocessor, 8200
//         cycles, about 5.5 us. Together 23 us per step. Measured: 44.0 (H200). A forward or input gradient takes about
//         5.3 us: 9000 cycles from the end of the previous one, half of them for the product (two thirds of the rate),
//         the rest for copies, sums of groups and of the cluster, and starts. All gradients take 15 us: blocks of two
//         warps, four per multiprocessor, all of which copy, then add, then store.
// Limits  Without clusters (before sm_90) a tile is one block's, and most multiprocessors idle. Two blocks per
//         multiprocessor would hide what precedes the wait, but the blocks of a kernel then share some multiprocessors
//         and leave others idle: 57 us per step. The host's launches, 7 of 2.5 us: 18 us.
#define TEMPORARIES                                                                                                    \
    TEMPORARY_LIST(float, a, DEPTH - 1, "4 * batch * width", "linear_relu[i]", "train_layers")                         \
    TEMPORARY(float, row_losses, "4 * batch", "linear_loss", "train_layers")                                           \
    TEMPORARY(float, last_delta, "40 * batch", "linear_loss", "train_layers")                                          \
    TEMPORARY_LIST(float, delta, DEPTH - 1, "4 * batch * width", "linear_loss", "train_layers")
#define KERNELS_OF_linear_relu(bounds)                                                                                 \
    WIDE_KERNEL_OF(linear_relu, bounds,                                                                                \
                   index == 0 ? OF_IMAGES(forward_op(LAYER(0), x, a[0]))                                               \
                              : forward_op(LAYER(index), a[index - 1], a[index]))
#define KERNELS_OF_linear_loss(bounds)                                                                                 \
    SINGLE_KERNEL_OF(                                                                                                  \
        linear_loss, linear_loss, bounds,                                                                              \
        with_loss(OF_IMAGES(backward_op(LAYER(DEPTH - 1), a[DEPTH - 2], last_delta, delta[DEPTH - 2])), row_losses))
// Launch k is for layer DEPTH - 2 - k.
#define KERNELS_OF_input_gradient_relu(bounds)                                                                         \
    WIDE_KERNEL_OF(input_gradient_relu, bounds,                                                                        \
                   backward_op(LAYER(DEPTH - 2 - index), a[DEPTH - 3 - index], delta[DEPTH - 2 - index],               \
                               delta[DEPTH - 3 - index]))
#include "last_layer.cuh"
#include "train_layers.cuh"
#include "wide_forward.cuh"

#ifndef IN_GRAPH
#define IN_GRAPH 0
#endif

#if IN_GRAPH
LAUNCHED_AS_GRAPH;
#endif
TEMPORARIES_AFTER_WAIT;
LAUNCHES = {
    indexed("depth - 1", WIDE_LAUNCH("linear_relu", OVERLAPS)),
    launch_of("linear_loss", LAST_THREADS, BATCH, OVERLAPS),
#if DEPTH > 2
    indexed("depth - 2", WIDE_LAUNCH("input_gradient_relu", OVERLAPS)),
#endif
    launch_of("train_layers", LAYER_THREADS, first_block(DEPTH) + 1, OVERLAPS, LAYER_SHARED),
};

WIDE_KERNEL(input_gradient_relu) {
    wide_t wide;
    const tile_t tile = begin_wide(wide, p.n_out, p.n_in);
    wide.a = {p.dy, nullptr, p.n_out, tile.row, p.rows, 0, 0};
    wide.b = {p.w, nullptr, p.n_in, 0, 0, tile.column, p.n_in};
    const auto load = [&](unsigned row, unsigned column) {
        const float *x = p.x + (size_t)(tile.row + row) * p.n_in;
        return load_four(x, tile.column + column, tile.row + row < p.rows ? p.n_in : 0);
    };
    multiply<false>(wide, false, load, [&](unsigned row, unsigned column, float4 dx, float4 x) {
        dx = make_float4(x.x > 0 ? dx.x : 0, x.y > 0 ? dx.y : 0, x.z > 0 ? dx.z : 0, x.w > 0 ? dx.w : 0);
        if (tile.row + row < p.rows)
            store_four(p.dx + (size_t)(tile.row + row) * p.n_in, tile.column + column, p.n_in, dx);
    });
}
