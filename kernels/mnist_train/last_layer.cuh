// The last layer of rungs 03 and 04: logits, loss, deltas, update.
#pragma once
#include "layers.cuh"

// Separate blocks compute the logits if one block would read for long, else each block that needs them.
constexpr unsigned LOGITS_OF_BLOCK = 1024;  // inputs of the last layer
constexpr bool SPLIT = HIDDEN > LOGITS_OF_BLOCK;
constexpr unsigned SPLITS = SPLIT ? (HIDDEN + LOGITS_OF_BLOCK - 1) / LOGITS_OF_BLOCK : 1;

constexpr unsigned STRIPS = HIDDEN / (8 * V), LAST_BLOCKS = (STRIPS + WARPS - 1) / WARPS;  // one strip per warp
constexpr unsigned CLASS_TILES = PADDED_CLASSES / 8, CLASS_SHARED = sums_bytes<CLASS_TILES>();

// An image of the training. Its last step prefetches one more, and has its own again: they are not used.
__device__ __forceinline__ const half *image_of_step(const mnist_t &p, unsigned step, unsigned row) {
    step = min(step, p.steps - 1);
    const unsigned image = min(__ldg(p.order + (size_t)step * BATCH + row), p.images_n - 1);
    return p.images + (size_t)image * PIXELS;
}

// Pairs of results of a block with TILES tiles of sums, distributed over its threads.
template <unsigned TILES> struct results_t {
    static constexpr unsigned PAIRS = BATCH_TILES * TILES * 64, OF_THREAD = (PAIRS + THREADS - 1) / THREADS;
};

// Sums of part `part` of the last layer's inputs, per pair of (image, class), without the bias.
template <class Take> __device__ __forceinline__ void class_sums(const mnist_t &p, unsigned part, Take take) {
    typedef forward_source<LAYERS - 1, CLASS_TILES> source_t;
    const source_t source(p, 0);
    sums_t sums[BATCH_TILES][CLASS_TILES] = {};
    constexpr unsigned MOST = (source_t::TILES + SPLITS * WARPS - 1) / (SPLITS * WARPS);
    for_tiles_in_registers<MOST, (MOST < 4 ? MOST : 4), true>(
        source, part * WARPS + warp(), SPLITS * WARPS, source_t::TILES, [] {},
        [&](unsigned, const tile_t<source_t> &tile) { add_forward(sums, tile); });
    store_sums(sums);
    for (unsigned i = threadIdx.x; i < results_t<CLASS_TILES>::PAIRS; i += THREADS) {
        const unsigned image = i / 64 / CLASS_TILES * 16 + row_of_pair(i % 64);
        take(image, i / 64 % CLASS_TILES * 8 + column_of_pair(i % 64), block_sums<CLASS_TILES>(i / 64, i % 64));
    }
}

#if HIDDEN > 1024
__device__ float2 partial_logits[SPLITS][BATCH][PADDED_CLASSES / 2];

STEP_KERNEL(forward_3, 1) {
    class_sums(p, blockIdx.x, [](unsigned image, unsigned first_class, float2 sums) {
        partial_logits[blockIdx.x][image][first_class / 2] = sums;
    });
}
#endif

struct last_layer_t {
    float2 logits[BATCH][PADDED_CLASSES / 2];
    vector_t<4> deltas[BATCH][PADDED_CLASSES / 8];
    float losses[BATCH];
};

__device__ __forceinline__ void gather_logits(const mnist_t &p, last_layer_t &last) {
#if HIDDEN > 1024
    wait_for_earlier_stages();
    for (unsigned i = threadIdx.x; i < BATCH * PADDED_CLASSES / 2; i += THREADS) {
        float2 sums = {0, 0};
#pragma unroll
        for (unsigned part = 0; part < SPLITS; part++) {
            const float2 more = __ldcg(&partial_logits[part][0][0] + i);
            sums.x += more.x;
            sums.y += more.y;
        }
        (&last.logits[0][0])[i] = sums;
    }
#else
    class_sums(p, 0,
               [&](unsigned image, unsigned first_class, float2 sums) { last.logits[image][first_class / 2] = sums; });
#endif
    __syncthreads();
}

// A row's inputs besides its logits; all are older than the previous stage.
struct row_t {
    unsigned label;
    vector_t<1> biases[CLASSES / 2];

    __device__ __forceinline__ row_t(const mnist_t &p, unsigned step, unsigned row) {
        label = p.labels[__ldg(p.order + (size_t)step * BATCH + row)];
#pragma unroll
        for (unsigned k = 0; k < CLASSES; k += 2)
            biases[k / 2] = load<1>(p.b[LAYERS - 1] + k);
    }
};

// Every block that needs it computes it, without waiting; block 0 writes what later stages read.
__device__ __forceinline__ void softmax_of_row(const mnist_t &p, last_layer_t &last, const row_t &of_row,
                                               unsigned row) {
    float logit[CLASSES], delta[CLASSES];
#pragma unroll
    for (unsigned k = 0; k < CLASSES; k += 2) {
        const float2 sums = last.logits[row][k / 2], bias = to_floats(of_row.biases[k / 2].word[0]);
        logit[k] = sums.x + bias.x;
        logit[k + 1] = sums.y + bias.y;
    }
    last.losses[row] = cross_entropy(logit, of_row.label, delta);
#pragma unroll
    for (unsigned k = 0; k < PADDED_CLASSES; k += 2) {
        const unsigned pair = k < CLASSES ? to_halves(delta[k], delta[k + 1]) : 0;
        last.deltas[row][k / 8].word[k / 2 % 4] = pair;
    }
    if (blockIdx.x == 0)
#pragma unroll
        for (unsigned k = 0; k < PADDED_CLASSES / 8; k++)
            store(p.delta[LAYERS - 1] + row * PADDED_CLASSES + k * 8, last.deltas[row][k]);
}

// One strip per warp and one tile per strip: the sums are complete in registers. W is updated in the next stage, when
// all blocks have read it.
struct last_strip_t {
    typedef backward_source<LAYERS - 1> source_t;
    static constexpr unsigned WORDS = BATCH_TILES * 4;  // fragments of an eighth of the strip
    unsigned strip;
    source_t source;
    tile_t<source_t> tile;
    vector_t<V / 2> activations[WORDS];

    __device__ __forceinline__ last_strip_t(const mnist_t &p, unsigned number)
        : strip(number), source(p, number * 8 * V) {
        load_weights(source, 0, tile);
    }
    __device__ __forceinline__ size_t first(unsigned i) const {
        const unsigned image = i / 4 * 16 + i % 4 / 2 * 8 + lane() / 4;
        return (size_t)image * HIDDEN + strip * 8 * V + (lane() % 4 * 2 + i % 2) * V;
    }
    __device__ __forceinline__ void load_activations(const mnist_t &p) {
#pragma unroll
        for (unsigned i = 0; i < WORDS; i++)
            activations[i] = load<V / 2>(p.a[LAYERS - 1] + first(i));
    }
    __device__ __forceinline__ void store_deltas(const mnist_t &p, const last_layer_t &last) {
#pragma unroll
        for (unsigned i = 0; i < BATCH_ROWS; i++) {
            const bool inside = source.row < PADDED_CLASSES;
            tile.inputs[i] = inside ? last.deltas[i * 8 + lane() / 4][source.row / 8] : vector_t<4>{};
        }
        sums_t sums[BATCH_TILES][V] = {};
        add_backward(sums, tile);
#pragma unroll
        for (unsigned i = 0; i < WORDS; i++) {
            vector_t<V / 2> delta;
#pragma unroll
            for (unsigned n = 0; n < V; n += 2) {
                const float4 low = in_float32(sums[i / 4][n]), high = in_float32(sums[i / 4][n + 1]);
                const float lows[4] = {low.x, low.y, low.z, low.w}, highs[4] = {high.x, high.y, high.z, high.w};
                delta.word[n / 2] = masked(lows[i % 4], highs[i % 4], activations[i].word[n / 2]);
            }
            store(p.delta[LAYERS - 2] + first(i), delta);
        }
    }
};

// Loads weights and other old data while the previous stage still runs.
STEP_KERNEL(backward_3, 1) {
    __shared__ last_layer_t last;
    const unsigned step = p.step, number = blockIdx.x * WARPS + warp();
    const row_t of_row(p, step, threadIdx.x % BATCH);
    last_strip_t strip(p, number < STRIPS ? number : STRIPS - 1);
    gather_logits(p, last);
    strip.load_activations(p);
    if (threadIdx.x < BATCH)
        softmax_of_row(p, last, of_row, threadIdx.x);
    __syncthreads();
    if (number < STRIPS)
        strip.store_deltas(p, last);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        float sum = 0;
        for (unsigned row = 0; row < BATCH; row++)
            sum += last.losses[row];
        p.losses[step] = sum / BATCH;
    }
}

__device__ __forceinline__ void update_last_layer(const mnist_t &p, unsigned part) {
    const unsigned number = part * WARPS + warp();
    if (number >= STRIPS)
        return wait_for_earlier_stages();
    const backward_source<LAYERS - 1> source(p, number * 8 * V);
    strip_t strip;
    for_tiles_in_registers<1, 1, true>(
        source, 0, 1, 1, [&] { strip.load_from(p.a[LAYERS - 1], HIDDEN, source.column); },
        [&](unsigned n, const tile_t<backward_source<LAYERS - 1>> &tile) {
            update_weights(p, source, n, tile, strip);
            if (number == 0)
                update_bias<LAYERS - 1>(p, n, tile.inputs);
        });
}
