// Idea    A block computes a tile of the result; its threads load shared data once, into shared memory.
// Change  From 01: tiles of 16 x 16 of both matrices in shared memory; 16 times fewer loads from device memory, all
//         coalesced.
// Buys    39 M multiply-adds per product, two 4-byte reads of shared memory each, 128 bytes per cycle on 132
//         multiprocessors: 19,000 cycles, 10 us per product, 80 us per step; with 27 launches of about 3 us about 100
//         us, 95 ms per epoch. Measured: 248 us (H200), probably because each of the 196 tiles of a forward or input
//         gradient computes its whole sum of 784 in 49 steps of copies and barriers.
// Limits  Shared memory: two reads per multiply-add. 27 launches per step.
#include "unfused.cuh"

LAUNCHES = {UNFUSED_LAUNCHES};

// One element of the sum over k < n of a(i, k) b(k, j); both functions return 0 outside their matrix. DOWN: neighbours
// of a lie along i; ACROSS: those of b lie along j. Loads are coalesced accordingly.
template <bool DOWN, bool ACROSS, class A, class B>
__device__ __forceinline__ float element_of_product(unsigned n, A a, B b) {
    __shared__ float a_tile[TILE][TILE + 1], b_tile[TILE][TILE + 1];
    const unsigned slow = threadIdx.x / TILE, fast = threadIdx.x % TILE;
    float sum = 0, partial = 0;
    for (unsigned first = 0; first < n; first += TILE) {
        if (DOWN)
            a_tile[fast][slow] = a(fast, first + slow);
        else
            a_tile[slow][fast] = a(slow, first + fast);
        if (ACROSS)
            b_tile[slow][fast] = b(first + slow, fast);
        else
            b_tile[fast][slow] = b(first + fast, slow);
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < TILE; k++)
            partial = fmaf(a_tile[slow][k], b_tile[k][fast], partial);
        __syncthreads();
        if (first % ROWS_OF_SUM == ROWS_OF_SUM - TILE)
            sum += partial, partial = 0;
    }
    return sum + partial;
}

OPERATOR(linear, THREADS) {
    const tile_t tile = tile_of(blockIdx.x, TILE, TILE, p.n_out);
    const unsigned row = tile.row + threadIdx.x / TILE, out = tile.column + threadIdx.x % TILE;
    const float sum = element_of_product<false, false>(
        p.n_in,
        [&](unsigned i, unsigned k) {
            const bool inside = tile.row + i < p.rows && k < p.n_in;
            return inside ? p.x[source_row(p, tile.row + i) * p.n_in + k] : 0.0f;
        },
        [&](unsigned k, unsigned j) {
            const bool inside = tile.column + j < p.n_out && k < p.n_in;
            return inside ? p.w[(size_t)(tile.column + j) * p.n_in + k] : 0.0f;
        });
    if (row < p.rows && out < p.n_out)
        p.y[(size_t)row * p.n_out + out] = sum + p.b[out];
}

OPERATOR(input_gradient, THREADS) {
    const tile_t tile = tile_of(blockIdx.x, TILE, TILE, p.n_in);
    const unsigned row = tile.row + threadIdx.x / TILE, in = tile.column + threadIdx.x % TILE;
    const float sum = element_of_product<false, true>(
        p.n_out,
        [&](unsigned i, unsigned k) {
            const bool inside = tile.row + i < p.rows && k < p.n_out;
            return inside ? p.dy[(size_t)(tile.row + i) * p.n_out + k] : 0.0f;
        },
        [&](unsigned k, unsigned j) {
            const bool inside = tile.column + j < p.n_in && k < p.n_out;
            return inside ? p.w[(size_t)k * p.n_in + tile.column + j] : 0.0f;
        });
    if (row < p.rows && in < p.n_in)
        p.dx[(size_t)row * p.n_in + in] = sum;
}

OPERATOR(weight_gradient, THREADS) {
    const tile_t tile = tile_of(blockIdx.x, TILE, TILE, p.n_in);
    const unsigned out = tile.row + threadIdx.x / TILE, in = tile.column + threadIdx.x % TILE;
    const float sum = element_of_product<true, true>(
        p.rows,
        [&](unsigned i, unsigned k) {
            const bool inside = tile.row + i < p.n_out && k < p.rows;
            return inside ? p.dy[(size_t)k * p.n_out + tile.row + i] : 0.0f;
        },
        [&](unsigned k, unsigned j) {
            const bool inside = tile.column + j < p.n_in && k < p.rows;
            return inside ? p.x[source_row(p, k) * p.n_in + tile.column + j] : 0.0f;
        });
    if (out < p.n_out && in < p.n_in)
        p.dw[(size_t)out * p.n_in + in] = sum;
}
