// Idea    Tensor core kernels that complete each result in registers: bias and ReLU, the ReLU's mask, and above all the
//         update, so that no weight gradient goes to memory.
// Change  One kernel per layer and direction, 7 or 8 in a graph instead of some 20 launches. mma.sync on fragments
//         loaded straight from memory, 16 bytes per lane (mma.cuh); a block's sums are complete, so there is no second
//         pass (layers.cuh). Order within a step: backward_3 (loss, delta 3 and 2), backward_2, _1, _0. A tile of W_l
//         gives delta l - 1 before it is updated and written back; W_3, which every block of backward_3 reads, is
//         updated one stage later, beside W_2. The next step's images are gathered beside forward_1.
// Buys    3 * W bytes per step instead of 5 (the gradient was written, then read). Small layers are a chain: 7 launches
//         of 1 us, each with an L2 latency (0.7 us) and a sum over 8 warps (0.3 us): 14 us at H = 128 … 512. H = 4096:
//         74 MB of weights, 51 us at 4.3 TB/s, less what the L2 keeps; 8192: 281 MB, 196 us.
// Limits  Stage boundaries: launch, first tiles and last sums are never hidden. Two tiles per warp in flight, and every
//         block reads all inputs, at H = 8192 as many bytes as it reads weights. Sums within a tensor core are float32
//         (ACCUMULATE_F16: fp16, but float32 across warps); a gradient's sum over the batch is always float32. With
//         dtype mixed the weights' second words are loaded when a tile is updated, not ahead.
#define TAKES_MIXED 1
#ifndef STREAMED  // rung 04: 1
#define STREAMED 0
#endif
#define OVERLAPPED (STREAMED && __CUDA_ARCH__ >= 900)
#include "last_layer.cuh"

constexpr unsigned FORWARD_BLOCKS = HIDDEN / (8 * WIDTH), GATHER_BLOCKS = BATCH / WARPS;
constexpr unsigned STRIPS_0 = (PIXELS + 8 * V - 1) / (8 * V);
// Layer 0 has no sums over rows, so its strips are split: down to one tile per warp or, if strips are wide, until all
// multiprocessors have a block.
constexpr unsigned MOST_PARTS = (HIDDEN / 32 + WARPS - 1) / WARPS, WANTED_PARTS = (V == 8 ? 132 : 400) / STRIPS_0;
constexpr unsigned PARTS_0 = MOST_PARTS < WANTED_PARTS ? MOST_PARTS : WANTED_PARTS;

__host__ __device__ constexpr unsigned largest(unsigned a, unsigned b) {
    return a > b ? a : b;
}
constexpr unsigned FORWARD_SHARED = largest(sums_bytes<WIDTH>(), ring_bytes<forward_source<1, WIDTH>>());
constexpr unsigned BACKWARD_SHARED = largest(sums_bytes<V>(), ring_bytes<backward_source<1>>());

LAUNCHED_AS_GRAPH;
#define STEP_LAUNCH(name, blocks, shared) launch_of(name, blocks, THREADS, shared, OVERLAPPED ? OVERLAPS : 0)
LAUNCHES = {
    FIRST_LAUNCHES
    STEP_LAUNCH("forward_0", FORWARD_BLOCKS, FORWARD_SHARED),
    STEP_LAUNCH("forward_1", FORWARD_BLOCKS + GATHER_BLOCKS, FORWARD_SHARED),
    STEP_LAUNCH("forward_2", FORWARD_BLOCKS, FORWARD_SHARED),
#if HIDDEN > 1024
    STEP_LAUNCH("forward_3", SPLITS, CLASS_SHARED),
#endif
    STEP_LAUNCH("backward_3", LAST_BLOCKS, CLASS_SHARED),
    STEP_LAUNCH("backward_2", STRIPS + LAST_BLOCKS, BACKWARD_SHARED),
    STEP_LAUNCH("backward_1", STRIPS, BACKWARD_SHARED),
    STEP_LAUNCH("backward_0", STRIPS_0 * PARTS_0, 0),
    LAST_LAUNCHES
};

// The next step's images, copied during this step: order, images and device memory are three latencies.
__device__ uint4 next_images[BATCH * IMAGE_VECTORS];

__device__ __forceinline__ void gather_next(const mnist_t &p, unsigned part) {
    wait_for_earlier_stages();
    const unsigned step = p.step + 1, row = part * WARPS + warp();
    const uint4 *from = reinterpret_cast<const uint4 *>(image_of_step(p, step, row));
    for (unsigned i = lane(); i < IMAGE_VECTORS; i += 32)
        next_images[row * IMAGE_VECTORS + i] = __ldg(from + i);
}

__device__ __forceinline__ const half *image_of_row(const mnist_t &p, unsigned step, unsigned row) {
    return step == 0 ? image_of_step(p, 0, row) : reinterpret_cast<const half *>(next_images) + row * PIXELS;
}

// For backward_0: `next_images` are the next step's by then.
__device__ __forceinline__ void keep_images(const mnist_t &p, unsigned step) {
    for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < BATCH * IMAGE_VECTORS; i += FORWARD_BLOCKS * THREADS) {
        const half *from = image_of_row(p, step, i / IMAGE_VECTORS);
        reinterpret_cast<uint4 *>(p.a[0])[i] = __ldcg(reinterpret_cast<const uint4 *>(from) + i % IMAGE_VECTORS);
    }
}

template <unsigned LAYER, class Ready>
__device__ __forceinline__ void forward(const mnist_t &p, forward_source<LAYER, WIDTH> &source, Ready ready) {
    typedef results_t<WIDTH> results;
    const unsigned first_row = blockIdx.x * 8 * WIDTH, pair = threadIdx.x % 64;
    const auto row_of = [&](unsigned tile) { return first_row + tile % WIDTH * 8 + column_of_pair(pair); };
    sums_t sums[BATCH_TILES][WIDTH] = {};
    vector_t<1> bias[results::OF_THREAD];
    for_tiles<LAYER != 0>(
        source,
        [&] {
            ready();
#pragma unroll
            for (unsigned i = 0; i < results::OF_THREAD; i++)
                bias[i] = load<1>(p.b[LAYER] + row_of((i * THREADS + threadIdx.x) / 64));
        },
        [&](unsigned, const tile_t<forward_source<LAYER, WIDTH>> &tile) { add_forward(sums, tile); });
    store_sums(sums);
#pragma unroll
    for (unsigned i = 0; i < results::OF_THREAD; i++) {
        const unsigned tile = (i * THREADS + threadIdx.x) / 64, image = tile / WIDTH * 16 + row_of_pair(pair);
        if (tile >= results::PAIRS / 64)
            break;
        const float2 sum = block_sums<WIDTH>(tile, pair), added = to_floats(bias[i].word[0]);
        *reinterpret_cast<unsigned *>(p.a[LAYER + 1] + (size_t)image * HIDDEN + row_of(tile)) =
            to_halves(fmaxf(sum.x + added.x, 0), fmaxf(sum.y + added.y, 0));
    }
}

STEP_KERNEL(forward_0, FORWARD_AT_ONCE) {
    forward_source<0, WIDTH> source(p, blockIdx.x * 8 * WIDTH);
    forward<0>(p, source, [&] {
        const unsigned step = p.step;
#pragma unroll
        for (unsigned i = 0; i < BATCH_ROWS; i++)
            source.inputs[i] = image_of_row(p, step, 8 * i + lane() / 4) + source.column;
        keep_images(p, step);
    });
}

STEP_KERNEL(forward_1, FORWARD_AT_ONCE) {
    if (blockIdx.x >= FORWARD_BLOCKS)
        return gather_next(p, blockIdx.x - FORWARD_BLOCKS);
    forward_source<1, WIDTH> source(p, blockIdx.x * 8 * WIDTH);
    forward<1>(p, source, [] {});
}

STEP_KERNEL(forward_2, FORWARD_AT_ONCE) {
    forward_source<2, WIDTH> source(p, blockIdx.x * 8 * WIDTH);
    forward<2>(p, source, [] {});
}

template <unsigned LAYER> __device__ __forceinline__ void backward(const mnist_t &p) {
    typedef results_t<V / 2> results;  // pairs of neighbouring columns in two tiles
    const unsigned pair = threadIdx.x % 64;
    const auto first_of = [&](unsigned tile) {
        const unsigned image = tile / (V / 2) * 16 + row_of_pair(pair);
        return (size_t)image * HIDDEN + (blockIdx.x * 8 + column_of_pair(pair)) * V + tile % (V / 2) * 2;
    };
    const backward_source<LAYER> source(p, blockIdx.x * 8 * V);
    strip_t strip;
    sums_t sums[BATCH_TILES][V] = {};
    vector_t<1> activations[results::OF_THREAD][2];
    for_tiles<true>(
        source,
        [&] {
            strip.load_from(p.a[LAYER], HIDDEN, source.column);
#pragma unroll
            for (unsigned i = 0; i < results::OF_THREAD * 2; i++) {
                const unsigned tile = min((i / 2 * THREADS + threadIdx.x) / 64, results::PAIRS / 64 - 1);
                activations[i / 2][i % 2] = load<1>(p.a[LAYER] + first_of(tile) + i % 2 * V);
            }
        },
        [&](unsigned n, const tile_t<backward_source<LAYER>> &tile) {
            add_backward(sums, tile);
            update_weights(p, source, n, tile, strip);
            if (n % STRIPS == blockIdx.x)
                update_bias<LAYER>(p, n, tile.inputs);
        });
    store_sums(sums);
#pragma unroll
    for (unsigned i = 0; i < results::OF_THREAD; i++) {
        const unsigned tile = (i * THREADS + threadIdx.x) / 64;
        if (tile >= results::PAIRS / 64)
            break;
        const float2 low = block_sums<V>(tile * 2, pair), high = block_sums<V>(tile * 2 + 1, pair);
        unsigned *to = reinterpret_cast<unsigned *>(p.delta[LAYER - 1] + first_of(tile));
        to[0] = masked(low.x, high.x, activations[i][0].word[0]);
        to[V / 2] = masked(low.y, high.y, activations[i][1].word[0]);
    }
}

STEP_KERNEL(backward_2, BACKWARD_AT_ONCE) {
    if (blockIdx.x >= STRIPS)
        return update_last_layer(p, blockIdx.x - STRIPS);
    backward<2>(p);
}

STEP_KERNEL(backward_1, BACKWARD_AT_ONCE) {
    backward<1>(p);
}

STEP_KERNEL(backward_0, 1) {
    const unsigned number = blockIdx.x % STRIPS_0, part = blockIdx.x / STRIPS_0;
    const backward_source<0> source(p, number * 8 * V);
    strip_t strip;
    for_tiles_in_registers<(MOST_PARTS + PARTS_0 - 1) / PARTS_0, 1, true>(
        source, part * WARPS + warp(), PARTS_0 * WARPS, backward_source<0>::TILES,
        [&] { strip.load_from(p.a[0], PIXELS, source.column); },
        [&](unsigned n, const tile_t<backward_source<0>> &tile) {
            update_weights(p, source, n, tile, strip);
            if (n % STRIPS_0 == number)
                update_bias<0>(p, n, tile.inputs);
        });
}
