// Layers forward and backward on tensor cores, for rungs 03 and 04. The rung defines STREAMED (tiles pass through a
// ring in shared memory) and OVERLAPPED (stages start early) before it includes this.
//
//   Forward   sums (BATCH, rows of W) = inputs · W^T. A block owns 8 * WIDTH rows; its warps split the inputs' columns.
//   Backward  sums (BATCH, columns of W) = delta · W, and W -= rate · delta^T · inputs. A block owns 8 * V columns; its
//             warps split the rows. A tile of W is read once: multiplied, then updated and written back, because its
//             gradient, a sum over the batch alone, is complete in registers.
// A block adds its warps' sums in order: no partial sums in memory, no atomics, and two runs are equal bit for bit.
#pragma once

#if BATCH != 16 && BATCH != 32
#error SKIP: needs batch 16 or 32
#elif HIDDEN % 64 != 0
#error SKIP: needs a hidden size that is a multiple of 64
#endif

#include "mnist_train.cuh"
#include "sums.cuh"
#include "tiles.cuh"

// Rows of W per block forward, in eights, and columns backward: as many as leave 96 blocks, because each block reads
// all inputs and deltas.
__host__ __device__ constexpr unsigned width() {
    unsigned width = 1;
    while (width < (STREAMED ? 8 : 4) && HIDDEN % (16 * width) == 0 && HIDDEN / (16 * width) >= 96)
        width *= 2;
    return width;
}
constexpr unsigned WIDTH = width(), V = WIDTH < 2 ? 2 : WIDTH;  // V: halves in a lane's vector of a row of W

// Tile n forward: inputs 32n … 32n + 31. Lane (g, t) takes eight of them from rows g, g + 8, … of W and of the
// activations.
template <unsigned LAYER, unsigned ROW_TILES> struct forward_source {
    static constexpr unsigned WEIGHTS = ROW_TILES, WEIGHT_WORDS = 4, INPUTS = BATCH_ROWS;
    static constexpr unsigned N_IN = fan_in(LAYER), N_OUT = fan_out(LAYER), TILES = (N_IN + 31) / 32;
    const half *weights, *inputs[INPUTS];
    unsigned row, column;  // of this lane

    __device__ __forceinline__ forward_source(const mnist_t &p, unsigned first_row) {
        row = first_row + lane() / 4;
        column = lane() % 4 * 8;
        weights = p.w[LAYER] + (size_t)row * N_IN + column;
        set_inputs(p.a[LAYER]);
    }
    __device__ __forceinline__ void set_inputs(const half *matrix) {
#pragma unroll
        for (unsigned i = 0; i < INPUTS; i++)
            inputs[i] = matrix + (8 * i + lane() / 4) * N_IN + column;
    }
    __device__ __forceinline__ const half *weight(unsigned n, unsigned i) const {
        return weights + (size_t)i * 8 * N_IN + n * 32;
    }
    __device__ __forceinline__ const half *input(unsigned n, unsigned i) const { return inputs[i] + n * 32; }
    __device__ __forceinline__ bool input_valid(unsigned n) const { return N_IN % 32 == 0 || n * 32 + column < N_IN; }
    __device__ __forceinline__ bool weight_valid(unsigned n, unsigned i) const {
        return input_valid(n) && (N_OUT % 8 == 0 || row + 8 * i < N_OUT);
    }
};

// Tile n backward: rows 32n … 32n + 31 of W. Lane (g, t) takes V columns of rows 8t … 8t + 7, and the deltas of these
// rows for images g, g + 8, ….
template <unsigned LAYER> struct backward_source {
    static constexpr unsigned WEIGHTS = 8, WEIGHT_WORDS = V / 2, INPUTS = BATCH_ROWS;
    static constexpr unsigned N_IN = fan_in(LAYER), N_OUT = fan_out(LAYER), TILES = (N_OUT + 31) / 32;
    static constexpr unsigned DELTAS = LAYER == LAYERS - 1 ? PADDED_CLASSES : N_OUT;  // per row
    half *weights;
    const half *deltas;
    unsigned row, column;  // of this lane

    __device__ __forceinline__ backward_source(const mnist_t &p, unsigned first_column) {
        row = lane() % 4 * 8;
        column = first_column + lane() / 4 * V;
        weights = p.w[LAYER] + (size_t)row * N_IN + column;
        deltas = p.delta[LAYER] + lane() / 4 * DELTAS + row;
    }
    __device__ __forceinline__ half *weight(unsigned n, unsigned i) const {
        return weights + (size_t)(n * 32 + i) * N_IN;
    }
    __device__ __forceinline__ const half *input(unsigned n, unsigned i) const {
        return deltas + i * 8 * DELTAS + n * 32;
    }
    __device__ __forceinline__ bool input_valid(unsigned n) const { return DELTAS % 32 == 0 || n * 32 + row < DELTAS; }
    __device__ __forceinline__ bool weight_valid(unsigned n, unsigned i) const {
        return (N_IN % (8 * V) == 0 || column < N_IN) && (N_OUT % 32 == 0 || n * 32 + row + i < N_OUT);
    }
};

// Column j of a warp's 8 in row tile i is row 8i + j of W. Sixteen inputs at a time: the first four of each lane's
// eight, then the rest.
template <unsigned LAYER, unsigned ROW_TILES>
__device__ __forceinline__ void add_forward(sums_t (&sums)[BATCH_TILES][ROW_TILES],
                                            const tile_t<forward_source<LAYER, ROW_TILES>> &tile) {
#pragma unroll
    for (unsigned k = 0; k < 4; k += 2)
#pragma unroll
        for (unsigned m = 0; m < BATCH_TILES; m++) {
            const vector_t<4> &x = tile.inputs[2 * m], &x_8 = tile.inputs[2 * m + 1];
            const unsigned a[4] = {x.word[k], x_8.word[k], x.word[k + 1], x_8.word[k + 1]};
#pragma unroll
            for (unsigned n = 0; n < ROW_TILES; n++) {
                const unsigned b[2] = {tile.weights[n].word[k], tile.weights[n].word[k + 1]};
                multiply_add(sums[m][n], a, b);
            }
        }
}

// Column j of a warp's 8 in column tile n is column V * j + n of the block's: of each lane's V, the n-th.
template <unsigned LAYER>
__device__ __forceinline__ void add_backward(sums_t (&sums)[BATCH_TILES][V],
                                             const tile_t<backward_source<LAYER>> &tile) {
#pragma unroll
    for (unsigned k = 0; k < 4; k += 2)
#pragma unroll
        for (unsigned n = 0; n < V; n++) {
            unsigned b[2];
#pragma unroll
            for (unsigned i = 0; i < 2; i++)
                b[i] = join(tile.weights[2 * (k + i)].word[n / 2], tile.weights[2 * (k + i) + 1].word[n / 2], n % 2);
#pragma unroll
            for (unsigned m = 0; m < BATCH_TILES; m++) {
                const vector_t<4> &d = tile.inputs[2 * m], &d_8 = tile.inputs[2 * m + 1];
                const unsigned a[4] = {d.word[k], d_8.word[k], d.word[k + 1], d_8.word[k + 1]};
                multiply_add(sums[m][n], a, b);
            }
        }
}

// Layer inputs of a warp's 8 * V columns, transposed: the left factor of their weight gradients. Rows g and g + 8 of
// matrix i are columns 2i and 2i + 1 of lane (g, t).
struct strip_t {
    unsigned inputs[V / 2][BATCH_TILES][4];

    __device__ __forceinline__ void load_from(const half *matrix, unsigned n_in, unsigned column) {
#pragma unroll
        for (unsigned k = 0; k < BATCH_TILES; k++) {
            vector_t<V / 2> rows[4];
#pragma unroll
            for (unsigned i = 0; i < 4; i++) {
                const unsigned image = 16 * k + lane() % 4 * 2 + i % 2 + i / 2 * 8;
                rows[i] = load_or_zero<V / 2>(matrix + image * n_in + column, column < n_in);
            }
#pragma unroll
            for (unsigned i = 0; i < V / 2; i++)
#pragma unroll
                for (unsigned word = 0; word < 4; word++)
                    inputs[i][k][word] = join(rows[word / 2 * 2].word[i], rows[word / 2 * 2 + 1].word[i], word % 2);
        }
    }
};

// Updates a tile of W in memory. Always float32: the sums are BATCH long, and end in w.
template <unsigned LAYER>
__device__ __forceinline__ void update_weights(const mnist_t &p, const backward_source<LAYER> &source, unsigned n,
                                               const tile_t<backward_source<LAYER>> &tile, const strip_t &strip) {
    constexpr float SHARE = 1.0f / BATCH;  // a power of two: no rounding
    const float rate = p.rate * SHARE;
#pragma unroll
    for (unsigned r = 0; r < 4; r++) {  // rows 2r and 2r + 1 of the lane's eight
        unsigned b[BATCH_TILES][2];
#pragma unroll
        for (unsigned k = 0; k < BATCH_ROWS; k++)
            b[k / 2][k % 2] = transposed(tile.inputs[k].word[r]);
        vector_t<V / 2> rows[2] = {tile.weights[2 * r], tile.weights[2 * r + 1]}, low[2];
        if (DTYPE_MIXED)
#pragma unroll
            for (unsigned upper = 0; upper < 2; upper++)
                low[upper] = load_or_zero<V / 2>(low_of(p, source.weight(n, 2 * r + upper)),
                                                 source.weight_valid(n, 2 * r + upper));
#pragma unroll
        for (unsigned i = 0; i < V / 2; i++) {
            float sums[4] = {};
#pragma unroll
            for (unsigned k = 0; k < BATCH_TILES; k++)
                multiply_add(sums, strip.inputs[i][k], b[k]);
#pragma unroll
            for (unsigned upper = 0; upper < 2; upper++)
                update_pair(rows[upper].word[i], low[upper].word[i], sums[upper], sums[2 + upper], rate);
        }
#pragma unroll
        for (unsigned upper = 0; upper < 2; upper++)
            if (source.weight_valid(n, 2 * r + upper)) {
                store(source.weight(n, 2 * r + upper), rows[upper]);
                if (DTYPE_MIXED)
                    store(low_of(p, source.weight(n, 2 * r + upper)), low[upper]);
            }
    }
}

// Biases of a tile's 32 rows, one per lane, from the deltas that its warp already has.
template <unsigned LAYER>
__device__ __forceinline__ void update_bias(const mnist_t &p, unsigned n, const vector_t<4> (&deltas)[BATCH_ROWS]) {
    const unsigned row = n * 32 + lane() % 4 * 8 + lane() / 4;
    float gradient = 0;
#pragma unroll
    for (unsigned i = 0; i < 8; i++) {
        float sum = 0;
#pragma unroll
        for (unsigned k = 0; k < BATCH_ROWS; k++) {
            const float2 pair = to_floats(deltas[k].word[i / 2]);
            sum += i % 2 == 0 ? pair.x : pair.y;
        }
#pragma unroll
        for (unsigned lanes = 4; lanes < 32; lanes *= 2)
            sum += __shfl_xor_sync(EVERY_LANE, sum, lanes);
        gradient = lane() / 4 == i ? sum / BATCH : gradient;
    }
    if (row < fan_out(LAYER))
        descend_bias(p, p.b[LAYER] + row, gradient);
}

extern __shared__ uint4 shared[];

template <unsigned COLUMN_TILES> __host__ __device__ constexpr unsigned sums_bytes() {
    return WARPS * BATCH_TILES * COLUMN_TILES * 32 * sizeof(float4);
}

// Stores every warp's sums, for block_sums().
template <unsigned COLUMN_TILES>
__device__ __forceinline__ void store_sums(const sums_t (&sums)[BATCH_TILES][COLUMN_TILES]) {
    float4 *own = reinterpret_cast<float4 *>(shared) + warp() * BATCH_TILES * COLUMN_TILES * 32 + lane();
    __syncthreads();  // the ring uses the same memory
#pragma unroll
    for (unsigned m = 0; m < BATCH_TILES; m++)
#pragma unroll
        for (unsigned n = 0; n < COLUMN_TILES; n++)
            own[(m * COLUMN_TILES + n) * 32] = in_float32(sums[m][n]);
    __syncthreads();
}

// Pair `pair` (0 … 63) of neighbouring columns of D fragment `tile`: its row, first column, sums over warps.
__device__ __forceinline__ unsigned row_of_pair(unsigned pair) {
    return pair / 8 + pair % 2 * 8;
}
__device__ __forceinline__ unsigned column_of_pair(unsigned pair) {
    return pair / 2 % 4 * 2;
}
template <unsigned COLUMN_TILES> __device__ __forceinline__ float2 block_sums(unsigned tile, unsigned pair) {
    const float2 *of_warp = reinterpret_cast<const float2 *>(shared) + tile * 64 + pair;
    float2 sums = of_warp[0];
#pragma unroll
    for (unsigned i = 1; i < WARPS; i++) {
        const float2 more = of_warp[i * BATCH_TILES * COLUMN_TILES * 64];
        sums.x += more.x;
        sums.y += more.y;
    }
    return sums;
}

// In smaller layers a warp has few tiles, and shared memory only adds latency.
#if STREAMED && __CUDA_ARCH__ >= 800 && HIDDEN >= 2048
#define RING 1
#if __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000 || __CUDA_ARCH__ == 1030
constexpr unsigned RING_LIMIT = 216 * 1024;
#elif __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 870
constexpr unsigned RING_LIMIT = 160 * 1024;
#else
constexpr unsigned RING_LIMIT = 96 * 1024;
#endif

// Three slots if two blocks then fit on a multiprocessor: the next stage's first tiles are loaded before this stage
// ends.
template <class Source> __host__ __device__ constexpr unsigned ring_slots() {
    constexpr unsigned BYTES = sizeof(ring_slot_t<Source>), MOST = RING_LIMIT / BYTES;
    return MOST >= 6 ? 3 : MOST < 4 ? MOST : 4;
}
template <class Source> __host__ __device__ constexpr unsigned ring_bytes() {
    static_assert(ring_slots<Source>() >= 2, "one slot is used while another is filled");
    return ring_slots<Source>() * sizeof(ring_slot_t<Source>);
}
#else
#define RING 0
template <class Source> __host__ __device__ constexpr unsigned ring_bytes() {
    return 0;
}
#endif

// Blocks per multiprocessor that registers allow without spills: the next stage's beside this one's.
constexpr unsigned FORWARD_AT_ONCE = WIDTH == 1 || (RING && WIDTH < 8) ? 2 : 1;
constexpr unsigned BACKWARD_AT_ONCE = RING && V < 8 ? 2 : 1;
#define STEP_KERNEL(name, at_once) PROBLEM_KERNEL(name, __launch_bounds__(THREADS, at_once))

// As many as fit 96 registers.
template <class Source> __host__ __device__ constexpr unsigned tiles_ahead() {
    constexpr unsigned REGISTERS = Source::WEIGHTS * Source::WEIGHT_WORDS + Source::INPUTS * 4;
    return REGISTERS <= 24 ? 4 : REGISTERS <= 32 ? 2 : 1;
}

template <bool EARLY, class Source, class Ready, class Use>
__device__ __forceinline__ void for_tiles(const Source &source, Ready ready, Use use) {
#if RING
    ring_slot_t<Source> *ring = reinterpret_cast<ring_slot_t<Source> *>(shared);
    for_tiles_in_ring<ring_slots<Source>(), EARLY>(ring, source, ready, use);
#else
    constexpr unsigned MOST = (Source::TILES + WARPS - 1) / WARPS, FIT = tiles_ahead<Source>();
    for_tiles_in_registers<MOST, (MOST < FIT ? MOST : FIT), EARLY>(source, warp(), WARPS, Source::TILES, ready, use);
#endif
}
