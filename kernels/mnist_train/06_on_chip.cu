// Idea    The weights of all layers stay on the chip for the whole training, one copy of each, up to H = 2048: 20 MB in
//         the shared memory and registers of 128 multiprocessors.
// Change  From 05, where every block reads all activations and keeps each weight twice: a layer is cut in two
//         dimensions. A cluster of 8 blocks owns 64 or 128 neurons, each of its ranks an eighth of their inputs. Forward,
//         the ranks' partial sums are added through distributed shared memory, and the activations go to the blocks
//         that need them, an eighth of all, through the L2. Backward, it is the reverse: partial sums of the clusters go
//         through the L2, and each cluster collects its deltas. ldmatrix and ldmatrix.trans read the same weights for
//         both. A bit of each word tells its step, so that nothing is cleared. Beyond 1536 neurons, more clusters than
//         fit everywhere would be needed: there, groups of 8 blocks exchange through the L2, too.
// Buys    Predicted 7.3 us per step at H = 512, 9.1 at 1024, 12.7 at 2048; measured on an H200 10.5, 14.3, 19.9 (05: 10.3
//         at 512; 04: 22.3, 35.0). Without products and updates it is 8.2, 9.7 and 14.1: six hops within a cluster,
//         five through the L2, and what a block does between them. Updates of layers 1 and 2 are longer than the waits
//         that should hide them, by 0.3 to 0.9 us each. Tried: half of each in the next step's wait for sums, half in that
//         for activations (predicted 10.1, 12.9, 18.5): 10.6, 13.8, 19.8. The update of layer 0 is in no wait.
//         docs/on-chip.md has the bytes of each exchange, the parts, their probes and the stages.
//         dtype mixed: 11.1 us at 512, 16.0 at 1024, predicted 7.7 and 10.3 (04: 20.7 and 24.4). A weight stays in 4
//         bytes, its float16 where it was and its second word beside it (split_weight.cuh); 208 KB of a block at 1024.
//         Products are the same. An update takes 7 more instructions per weight and twice the accesses.
// Limits  At most 32 images and 2048 neurons per layer (dtype mixed: 1024), padded to a multiple of 512; dtype f16 up
//         to 256: rung 05. All blocks have to be resident. Partial sums lose the last bit of 24 on their way through the L2. mma.sync
//         reads its operands from shared memory more often than wgmma would; its fragments serve the update, too.
#define TAKES_MIXED (__CUDA_ARCH__ >= 900)
#include "mnist_train.cuh"

#if __CUDA_ARCH__ < 900 || HIDDEN <= 256 && !DTYPE_MIXED && !defined(RANKS)
#include "05_persistent.cu"
#else

#define ROWS 32  // images, padded; the deltas of the padding are 0
#if BATCH > ROWS
#error SKIP: batches of at most 32 images
#elif HIDDEN > (DTYPE_MIXED ? 1024 : 2048)
#error SKIP: the weights of layers this wide do not fit on the chip
#elif SHARED_LIMIT < 227 * 1024
#error SKIP: needs 227 KiB of shared memory per block
#endif

#ifndef RANKS  // tests on a host choose fewer blocks
#define RANKS 8
#define WIDTH ((HIDDEN + 511) / 512 * 512)
#define OWN (WIDTH >= 1024 ? 16 : 8)
#define CLUSTERED (WIDTH < 2048)  // at most 12 clusters
#endif
// Blocks of a cluster and their neurons: all, and of each.
constexpr unsigned PANEL = RANKS * OWN, CLUSTERS = WIDTH / PANEL, BLOCKS = RANKS * CLUSTERS;
constexpr unsigned SHARE = WIDTH / RANKS;                               // inputs of a rank
constexpr unsigned PIXEL_TILES = (PIXELS / 16 + RANKS - 1) / RANKS;     // of a rank; some of the last may not exist
constexpr unsigned PIXEL_ROW = PIXEL_TILES * 16 + 8;                    // an odd multiple of 16 bytes: different banks
constexpr unsigned WARPS = 8, THREADS = WARPS * 32;
static_assert(WARPS * 4 == ROWS, "a thread has two of the padded classes of an image");
static_assert(PIXEL_ROW / 8 % 2 == 1, "rows of pixels in different banks");

#include "common/stamps.cuh"
#include "persistent_ptx.cuh"

#include "fragments.cuh"

typedef half weights_t[PANEL][SHARE], share_rows_t[ROWS][SHARE], panel_rows_t[ROWS][PANEL];
union sums_t {
    float of_layer[RANKS][ROWS][OWN], of_logits[RANKS][ROWS][PADDED_CLASSES];
    share_rows_t activations_3;  // in the first
};
struct __align__(128) shared_t {
    weights_t weights[DTYPE_MIXED ? 4 : 2];  // layers 1, 2, and their second words
    share_rows_t inputs[2];  // activations 1, 2
    union {
        panel_rows_t delta[2];
        partial_t of_warps;
    };
    sums_t sums[2];
    half delta_3[ROWS][PADDED_CLASSES];
    half pixels[2][ROWS][PIXEL_ROW];
    float bias[3][OWN], last_bias[PADDED_CLASSES], losses[WARPS];
    unsigned long long arrived[6], fetched[2];
};
static_assert(sizeof(shared_t) <= SHARED_LIMIT, "shared memory of a block");
constexpr unsigned LOW_BYTES = 2 * sizeof(weights_t);  // from a weight to its second word

LAUNCHES = {
    FIRST_LAUNCHES
    once(launch_of("train", BLOCKS, THREADS, sizeof(shared_t), COOPERATIVE, CLUSTERED ? RANKS : 1)),
    LAST_LAUNCHES
};

#include "on_chip_exchange.cuh"
#include "on_chip_images.cuh"
#include "on_chip_layers.cuh"

struct trainer_t {
    const mnist_t &p;
    shared_t &shared;
    network_t net, low;  // low: the second words, with dtype mixed
    images_t images;
    half2 own[2][PAIRS];   // this thread's activations 1 and 2
    unsigned panel[4][2];  // activations 3 of 16 of the cluster's neurons

    __device__ __forceinline__ trainer_t(const mnist_t &problem, shared_t &memory) : p(problem), shared(memory) {
        for (unsigned i = threadIdx.x; i < sizeof(shared_t) / 4; i += THREADS)
            ((unsigned *)&shared)[i] = 0;
        __syncthreads();
        load_network(net, shared.weights, matrices_t(p, false));
        if (DTYPE_MIXED)
            load_network(low, shared.weights + 2, matrices_t(p, true));
        const unsigned i = threadIdx.x;
        for (unsigned layer = 0; layer < 3; layer++)
            if (i < OWN && first_own() + i < HIDDEN)
                shared.bias[layer][i] = load_bias(p, p.b[layer] + first_own() + i);
        if (i < CLASSES)
            shared.last_bias[i] = load_bias(p, p.b[3] + i);
        images.begin(p, shared);
        cluster_begin(shared);
        grid_begin(p);
        images.fetch(p, shared, 0);
    }

    __device__ __forceinline__ static unsigned first_own() { return blockIdx.x * OWN; }
    __device__ __forceinline__ swizzled_t<SHARE> inputs(unsigned layer) const {
        return {shared_address(layer == 3 ? shared.sums[0].activations_3 : shared.inputs[layer - 1])};
    }
    __device__ __forceinline__ swizzled_t<SHARE> weights(unsigned layer) const {
        return {shared_address(shared.weights[layer - 1])};
    }
    __device__ __forceinline__ swizzled_t<PANEL> delta(unsigned layer) const {
        return {shared_address(shared.delta[layer % 2])};
    }
    __device__ __forceinline__ class_rows_t last_delta() const { return {shared_address(shared.delta_3)}; }
    __device__ __forceinline__ pixels_t pixels(unsigned step) const {
        return {shared_address(shared.pixels[step % 2])};
    }

    __device__ __forceinline__ void send_forward(cluster_exchange layer, unsigned step,
                                                 const tile_t (&sums)[IMAGE_TILES][2]) {
#pragma unroll
        for (unsigned m = 0; m < IMAGE_TILES; m++)
#pragma unroll
            for (unsigned h = 0; h < 2; h++)
                send_sums(shared, layer, step, (image_tile() + m) * 16, neuron_tile() * 16 + h * 8, sums[m][h]);
    }

    // A bias as sums take it.
    __device__ __forceinline__ static float in_sums(float bias) {
        return DTYPE_MIXED ? __half2float(__float2half_rn(bias)) : bias;
    }

    // Activations layer + 1, of this block's neurons.
    template <cluster_exchange LAYER> __device__ __forceinline__ void finish_forward(unsigned step) {
        cluster_wait(shared, LAYER, step);
        STAMP(SUMS_HERE, LAYER);
#pragma unroll
        for (unsigned pair = 0; pair < PAIRS; pair++) {
            const float2 sum = received_sum(shared, LAYER, step, pair);
            const float *bias = shared.bias[LAYER] + column_of_pair(pair);
            const half2 a = __floats2half2_rn(fmaxf(sum.x + in_sums(bias[0]), 0), fmaxf(sum.y + in_sums(bias[1]), 0));
            if (LAYER < SUMS_2)
                own[LAYER % 2][pair] = a;
            share_activations(LAYER, step, pair, a);
        }
        STAMP(ACTIVATIONS_SENT, LAYER);
    }

    __device__ __forceinline__ void forward_0(unsigned step) {
        tile_t sums[IMAGE_TILES][2];
        images.wait(shared, step);
        STAMP(IMAGES_HERE, 0);
        multiply_forward<PIXEL_TILES>(sums, pixels(step), [&](fragment_t &w, unsigned j) {
#pragma unroll
            for (unsigned word = 0; word < 4; word++)
                w[word] = net.w0[j][word];
        });
        STAMP(PRODUCT, 0);
        send_forward(SUMS_0, step, sums);
        __syncthreads();  // of the last step: biases, and all reads of its pixels and activations 1
        images.fetch(p, shared, step + 1);
        finish_forward<SUMS_0>(step);
        receive_activations(shared.inputs[0], 0, step, [] {});
        STAMP(ACTIVATIONS_HERE, 0);
    }

    template <cluster_exchange LAYER> __device__ __forceinline__ void forward(unsigned step) {
        tile_t sums[IMAGE_TILES][2];
        const unsigned from = rows_of(weights(LAYER)).address + neuron_tile() * 16 * SHARE * 2;
        const swizzled_row_t row = {from, rows_of(weights(LAYER)).key};
        multiply_forward<INPUT_TILES>(sums, inputs(LAYER),
                                      [&](fragment_t &w, unsigned j) { load_matrices<false>(w, row.tile(j)); });
        STAMP(PRODUCT, LAYER);
        send_forward(LAYER, step, sums);
        finish_forward<LAYER>(step);
        if (LAYER == SUMS_1)
            receive_activations(shared.inputs[1], 1, step, [] {});
        else  // all have read sums[0]
            receive_activations(shared.sums[0].activations_3, 2, step, [] { __syncthreads(); });
        STAMP(ACTIVATIONS_HERE, LAYER);
    }

    // The last layer, in every cluster: logits, loss, delta 3. Returns the loss of an image in the lane of its label,
    // else 0.
    __device__ __forceinline__ float forward_3(unsigned step) {
        tile_t sums[2][2];
        const auto from = rows_of(inputs(3));
#pragma unroll
        for (unsigned i = 0; i < LAST_TILES; i++)
            if (warp_of() + i * WARPS < INPUT_TILES)
#pragma unroll
                for (unsigned m = 0; m < 2; m++) {
                    fragment_t of_images;
                    load_matrices<false>(of_images, from.tile(warp_of() + i * WARPS) + m * 16 * SHARE * 2);
                    multiply_add(sums[m][0], of_images, net.w3[i][0], net.w3[i][2]);
                    multiply_add(sums[m][1], of_images, net.w3[i][1], net.w3[i][3]);
                }
        put_sums(shared.of_warps, sums);
        __syncthreads();
        const unsigned row = threadIdx.x / 8, k = threadIdx.x % 8 * 2;
        send_logits(shared, step, row, k, total(shared.of_warps, row, k));
        STAMP(PRODUCT, 3);
        receive_panel(panel, step, neuron_tile() * 16);
        STAMP(PANEL_HERE, 0);
        cluster_wait(shared, LOGITS, step);
        STAMP(LOGITS_HERE, 0);
        const float2 sum = received_logits(shared, step, row, k);
        half2 delta;
        const float2 logits =
            make_float2(sum.x + in_sums(shared.last_bias[k]), sum.y + in_sums(shared.last_bias[k + 1]));
        const float loss = softmax_pair(delta, logits, row, k, images.label);
        *(half2 *)&shared.delta_3[row][k ^ row / 4 % 2 * 8] = delta;
        __syncthreads();
        STAMP(SOFTMAX, 0);
        return loss;
    }

    __device__ __forceinline__ static half2 masked(float2 sum, half2 activation) {
        const float2 a = __half22float2(activation);
        return __floats2half2_rn(a.x > 0 ? sum.x : 0, a.y > 0 ? sum.y : 0);
    }

    // delta 2 = (delta 3 · W_3) masked: the classes are one tile. Each block computes all of its cluster's.
    __device__ __forceinline__ void backward_3() {
        const auto from = rows_of(last_delta());
#pragma unroll
        for (unsigned m = 0; m < IMAGE_TILES; m++) {
            const bool second = IMAGE_TILES == 1 ? image_tile() != 0 : m != 0;
            fragment_t of_images;
            load_matrices<false>(of_images, from.tile(0) + (second ? 16 * class_rows_t::ROW_BYTES : 0));
#pragma unroll
            for (unsigned h = 0; h < 2; h++) {
                tile_t sums;
                multiply_add(sums, of_images, net.back3[h], net.back3[h + 2]);
                const unsigned upper = second ? panel[2][h] : panel[0][h], lower = second ? panel[3][h] : panel[1][h];
                const unsigned row = second * 16 + lane_of() / 4, chunk = neuron_tile() * 2 + h;
                half *to = &shared.delta[0][row][(chunk ^ row % 8) * 8 + lane_of() % 4 * 2];
                *(half2 *)to = masked(sums.upper(), *(const half2 *)&upper);
                *(half2 *)(to + 8 * PANEL) = masked(sums.lower(), *(const half2 *)&lower);
            }
        }
        __syncthreads();
    }

    // Partial sums of delta LAYER - 1; finish_backward() adds those of all clusters.
    template <unsigned LAYER> __device__ __forceinline__ void backward(unsigned step) {
        multiply_backward(delta(LAYER), weights(LAYER), [&](const tile_t &sums, unsigned row, unsigned column) {
            share_sums(LAYER - 1, step, row, column, sums);
        });
        __syncthreads();  // before an update of the weights
    }

    template <unsigned LAYER> __device__ __forceinline__ void finish_backward(unsigned step) {
        constexpr cluster_exchange MATRIX = LAYER == 2 ? DELTA_1 : DELTA_0;
#pragma unroll
        for (unsigned pair = 0; pair < PAIRS; pair++) {
            const float2 sum = shared_sum(LAYER - 1, step, pair);
            send_deltas(shared, MATRIX, step, pair, masked(sum, own[LAYER - 1][pair]));
        }
        STAMP(DELTA_SUMS_HERE, LAYER);
        receive_deltas(shared, MATRIX, step);
        STAMP(DELTAS_HERE, LAYER);
    }

    __device__ __forceinline__ void descend_own_biases(unsigned layer) {
        if (warp_of() != WARPS - 1)
            return;
        const panel_rows_t &rows = shared.delta[layer % 2];
        descend_biases<OWN>(
            shared.bias[layer],
            [&](unsigned image, unsigned i) {
                const unsigned column = rank_of() * OWN + i;
                return __half2float(rows[image][(column / 8 ^ image % 8) * 8 + column % 8]);
            },
            p.rate / BATCH);
    }

    __device__ __forceinline__ void descend_layer_3() {
        descend_last(p, net, low, last_delta(), inputs(3), panel);
        if (warp_of() == WARPS - 1)
            descend_biases<PADDED_CLASSES>(
                shared.last_bias,
                [&](unsigned image, unsigned i) { return __half2float(shared.delta_3[image][i ^ image / 4 % 2 * 8]); },
                p.rate / BATCH);
    }

    __device__ __forceinline__ void descend_layer(unsigned layer) {
        descend_shared(p, layer, weights(layer), delta(layer), inputs(layer));
        descend_own_biases(layer);
    }

    __device__ __forceinline__ void step(unsigned s) {
        STAMP(START, 0);
        cluster_expect(shared);
        forward_0(s);
        forward<SUMS_1>(s);
        forward<SUMS_2>(s);
        const float loss = forward_3(s);
        backward_3();
        sum_losses(shared.losses, loss);
        STAMP(BACKWARD, 3);
        backward<2>(s);
        STAMP(BACKWARD, 2);
        write_loss(p, shared.losses, s);
        descend_layer_3();
        STAMP(UPDATE, 3);
        descend_layer(2);
        STAMP(UPDATE, 2);
        finish_backward<2>(s);
        backward<1>(s);
        STAMP(BACKWARD, 1);
        descend_layer(1);
        STAMP(UPDATE, 1);
        finish_backward<1>(s);
        descend_first(p, net, low, delta(0), pixels(s));
        descend_own_biases(0);
        STAMP(UPDATE, 0);
    }

    __device__ __forceinline__ void finish() {
        images.wait(shared, p.steps);
        __syncthreads();
        store_network(net, shared.weights, matrices_t(p, false));
        if (DTYPE_MIXED)
            store_network(low, shared.weights + 2, matrices_t(p, true));
        const unsigned i = threadIdx.x;
        for (unsigned layer = 0; layer < 3; layer++)
            if (i < OWN && first_own() + i < HIDDEN)
                store_bias(p, p.b[layer] + first_own() + i, shared.bias[layer][i]);
        if (blockIdx.x == 0 && i < CLASSES)
            store_bias(p, p.b[3] + i, shared.last_bias[i]);
        cluster_end();
    }
};

PROBLEM_KERNEL(train, __launch_bounds__(THREADS, 1)) {
    extern __shared__ unsigned char dynamic_shared[];
    trainer_t trainer(p, *(shared_t *)dynamic_shared);
    for (unsigned s = 0; s < p.steps; s++)
        trainer.step(s);
    trainer.finish();
}
#endif
