// A block's share of the network in rung 05, with weights in registers. Of its 16 neurons' weights a warp has the
// 16-column tiles warp, warp + WARPS, …: it multiplies all images by those, and the block reduces its warps' sums in
// shared memory, in a fixed order.
#pragma once
#include "fragments.cuh"

struct network_t {
    fragment_t w0[PIXEL_TILES], w1[TILES], w2[TILES], w3[TILES];
    // Columns of W, for the backward pass. They are updated by the same gradients in the same order as the rows in
    // other blocks, so both stay equal; that is cheaper than sending sums.
    fragment_t back1[TILES], back2[TILES], back3[1];
};

__device__ __forceinline__ unsigned first_own() {
    return blockIdx.x * OWN;
}

__device__ __forceinline__ void load_network(network_t &net, const mnist_t &p) {
    const unsigned own = first_own();
#pragma unroll
    for (unsigned j = 0; j < PIXEL_TILES; j++)
        load_weights(net.w0[j], {p.w[0], PIXELS, 1, HIDDEN, PIXELS}, own, (warp_of() + j * WARPS) * 16);
#pragma unroll
    for (unsigned j = 0; j < TILES; j++) {
        const unsigned column = (warp_of() + j * WARPS) * 16;
        load_weights(net.w1[j], {p.w[1], HIDDEN, 1, HIDDEN, HIDDEN}, own, column);
        load_weights(net.w2[j], {p.w[2], HIDDEN, 1, HIDDEN, HIDDEN}, own, column);
        load_weights(net.back1[j], {p.w[1], 1, HIDDEN, HIDDEN, HIDDEN}, own, column);
        load_weights(net.back2[j], {p.w[2], 1, HIDDEN, HIDDEN, HIDDEN}, own, column);
    }
#pragma unroll
    for (unsigned j = 0; j < TILES; j++)
        load_weights(net.w3[j], {p.w[3], HIDDEN, 1, CLASSES, HIDDEN}, 0, (warp_of() + j * WARPS) * 16);
    load_weights(net.back3[0], {p.w[3], 1, HIDDEN, HIDDEN, CLASSES}, own, 0);
}

__device__ __forceinline__ void store_network(const network_t &net, const mnist_t &p) {
    const unsigned own = first_own();
#pragma unroll
    for (unsigned j = 0; j < PIXEL_TILES; j++)
        store_weights(net.w0[j], p.w[0], HIDDEN, PIXELS, own, (warp_of() + j * WARPS) * 16);
#pragma unroll
    for (unsigned j = 0; j < TILES; j++) {
        const unsigned column = (warp_of() + j * WARPS) * 16;
        store_weights(net.w1[j], p.w[1], HIDDEN, HIDDEN, own, column);
        store_weights(net.w2[j], p.w[2], HIDDEN, HIDDEN, own, column);
    }
    if (blockIdx.x == 0)
#pragma unroll
        for (unsigned j = 0; j < TILES; j++)
            store_weights(net.w3[j], p.w[3], CLASSES, HIDDEN, 0, (warp_of() + j * WARPS) * 16);
}

// Layout of 16-byte pieces in shared memory. Images are rows. All else are tiles of 16 columns, one per block, with
// consecutive rows of 32 bytes, so that a warp sends 128 bytes at once. Every other four rows swap their two pieces, so
// that eight rows lie in different banks.
struct pixels_t {
    static constexpr unsigned COLUMNS = PIXELS, TILE_BYTES = 32, ROW_BYTES = PIXEL_ROW * sizeof(half);
    unsigned address;

    __device__ __forceinline__ unsigned piece(unsigned tile, unsigned row, unsigned eight) const {
        return address + tile * TILE_BYTES + row * ROW_BYTES + eight * 16;
    }
};

typedef half tile_rows_t[ROWS][OWN];
struct tiled_t {
    static constexpr unsigned COLUMNS = WIDTH, TILE_BYTES = sizeof(tile_rows_t), ROW_BYTES = OWN * sizeof(half);
    unsigned address;

    __device__ __forceinline__ unsigned piece(unsigned tile, unsigned row, unsigned eight) const {
        return address + tile * TILE_BYTES + row * ROW_BYTES + (eight ^ row / 4 % 2) * 16;
    }
};

__device__ __forceinline__ half2 *pair_at(tile_rows_t &tile, unsigned row, unsigned column) {
    return (half2 *)&tile[row][column ^ row / 4 % 2 * 8];
}

// The pixels' last tiles may not exist.
template <class Matrix> __device__ __forceinline__ bool has_tile(unsigned j) {
    return (j + 1) * WARPS * 16 <= Matrix::COLUMNS || (warp_of() + j * WARPS) * 16 < Matrix::COLUMNS;
}

// sums[16 images][8 neurons] += activations · Wᵀ.
template <unsigned N, class Matrix>
__device__ __forceinline__ void multiply(tile_t (&sums)[2][2], const Matrix &activations, const fragment_t (&w)[N]) {
    const unsigned from = activations.piece(warp_of(), lane_of() % 16, lane_of() / 16);
#pragma unroll
    for (unsigned j = 0; j < N; j++) {
        if (!has_tile<Matrix>(j))
            break;
#pragma unroll
        for (unsigned m = 0; m < 2; m++) {
            fragment_t images;
            load_matrices<false>(images, from + m * 16 * Matrix::ROW_BYTES + j * WARPS * Matrix::TILE_BYTES);
            multiply_add(sums[m][0], images, w[j][0], w[j][2]);
            multiply_add(sums[m][1], images, w[j][1], w[j][3]);
        }
    }
}

// Tile `left`, transposed, over all images: the rows of the gradient.
__device__ __forceinline__ void load_rows(fragment_t (&rows)[2], const tiled_t &left, unsigned tile) {
    const unsigned lane = lane_of(), from = left.piece(tile, lane % 8 + lane / 16 * 8, lane / 8 % 2);
    load_matrices<true>(rows[0], from);
    load_matrices<true>(rows[1], from + 16 * tiled_t::ROW_BYTES);
}

// W -= rate · leftᵀ · right; the fragments' columns are tiles first, first + WARPS, … of `right`.
template <unsigned N, class Matrix>
__device__ __forceinline__ void descend(fragment_t (&w)[N], const fragment_t (&rows)[2], const Matrix &right,
                                        unsigned first, float rate) {
    const unsigned from = right.piece(first, lane_of() % 16, lane_of() / 16);
#pragma unroll
    for (unsigned j = 0; j < N; j++) {
        if (!has_tile<Matrix>(j))
            break;
        tile_t g[2];
#pragma unroll
        for (unsigned k = 0; k < 2; k++) {
            fragment_t columns;
            load_matrices<true>(columns, from + k * 16 * Matrix::ROW_BYTES + j * WARPS * Matrix::TILE_BYTES);
            multiply_add(g[0], rows[k], columns[0], columns[1]);
            multiply_add(g[1], rows[k], columns[2], columns[3]);
        }
        w[j][0] = updated_pair(w[j][0], g[0].upper(), rate);
        w[j][1] = updated_pair(w[j][1], g[0].lower(), rate);
        w[j][2] = updated_pair(w[j][2], g[1].upper(), rate);
        w[j][3] = updated_pair(w[j][3], g[1].lower(), rate);
    }
}

// Biases of n neurons, by the last warp: gradients are sums of rows, computed as a product by ones.
__device__ __forceinline__ void descend_biases(float *bias, unsigned n, const fragment_t (&rows)[2], float rate) {
    constexpr unsigned ONES = 0x3C003C00;
    if (warp_of() != WARPS - 1)
        return;
    tile_t sums;
    multiply_add(sums, rows[0], ONES, ONES);
    multiply_add(sums, rows[1], ONES, ONES);
    const unsigned i = lane_of() / 4 + lane_of() % 2 * 8;
    const float g = lane_of() % 2 == 0 ? sums.upper().x : sums.lower().x;
    if (lane_of() % 4 >= 2 || i >= n)
        return;
    bias[i] = __half2float(__float2half_rn(fmaf(-rate, g, bias[i])));
}
