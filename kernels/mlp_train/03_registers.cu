// Idea    Many multiply-adds for each number that is loaded: a thread keeps 56 or 64 sums in registers. And few kernels:
//         what follows a product is done where its result is.
// Change  Forward and input gradients: tiles of 64 x 28 (of 32, 64 columns where the width asks for it), each made by a
//         cluster of up to 8 blocks that share its sum, so that 112 of 132 multiprocessors work (wide_product.cuh).
//         Images are read where they lie, through their numbers. One kernel for the last layer, the loss and the
//         gradient by the layer in front of it (last_layer.cuh). One for the gradients of all layers and the update
//         (train_layers.cuh); before that launch no weights change, so the input gradients need not wait for updates.
//         From sm_90 on kernels overlap: each copies what the one in front does not change, then waits for it.
// Buys    DEPTH + 3 launches a step in place of 7 DEPTH - 1: 7 for 27. Width 784: a forward or input gradient is 39 M
//         multiply-adds, at 112 * 128 a cycle 2750 cycles, with four fifths of that rate, copies and two steps of
//         partial sums (0.6 us) about 3.2 us; five of them 16 us. The last layer 1.5 us. All gradients: 507 tiles in
//         one wave, 3.84 a multiprocessor, 8200 cycles, about 5.5 us. Together 23 us, and 7 starts, half hidden, 3 us:
//         26 us a step, 25 ms an epoch. Measured: 55 (H200; 64 with four warps a block in place of eight).
//         Alone a forward product takes 7, all gradients 15.5: half of the instructions are no multiply-adds, and a
//         scheduler that has two warps issues in two of five cycles.
// Limits  Without clusters (before sm_90) a tile is one block's, which leaves most multiprocessors idle. The host's
//         launches, 7 of 2.5 us: 18 us, near what they start.
#include "last_layer.cuh"
#include "train_layers.cuh"
#include "wide_forward.cuh"

#ifndef IN_GRAPH
#define IN_GRAPH 0
#endif

constexpr unsigned OVERLAPS = __CUDA_ARCH__ >= 900 ? STAGE_OVERLAPPED : 0;
PLAN = {1, IN_GRAPH, 0, 0, 0};
STAGES = {
    WIDE_STAGE("linear_relu", STAGE_EPOCH, OVERLAPS),
    LAST_LAYER_STAGE(OVERLAPS),
    WIDE_STAGE("input_gradient_relu", STAGE_EPOCH, OVERLAPS),
    TRAIN_LAYERS_STAGE(OVERLAPS),
    WIDE_STAGE("linear", STAGE_AFTER, OVERLAPS),
    VALIDATE_STAGE,
};

WIDE_KERNEL(input_gradient_relu) {
    float *memory = (float *)shared_memory;
    wide_t wide;
    const tile_t tile = begin_wide(wide, p.n_out, p.n_in);
    wide.a = {p.dy, nullptr, p.n_out, tile.row, p.rows, 0, 0};
    wide.b = {p.w, nullptr, p.n_in, 0, 0, tile.column, p.n_in};
    sums_t sums = {};
    add_up<false>(memory, wide, false, sums);
    gather_sums(memory, sums, [&](unsigned row, unsigned column, float4 sum) {
        row += tile.row, column += tile.column;
        if (row >= p.rows)
            return;
        const float *x = p.x + (size_t)row * p.n_in + column;
        float dx[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
        for (unsigned k = 0; k < 4; k++)
            dx[k] = column + k < p.n_in && __ldcg(x + k) > 0 ? dx[k] : 0.0f;
        store_four(p.dx + (size_t)row * p.n_in, column, p.n_in, make_float4(dx[0], dx[1], dx[2], dx[3]));
    });
}
