// Idea    The network never leaves the chip: one launch for the whole training, in which every block owns some neurons
//         of each layer and keeps their weights in registers, as the operands that the tensor cores take.
// Change  Up to 256 neurons a layer, eight blocks of a cluster (sm_90), which send their columns of activations and
//         deltas into each other's shared memory. Beyond that a cooperative launch of a block per 16 neurons, which
//         meet by way of the L2. A block has the rows of W for its neurons, and for the way back the columns, too: each
//         is updated where it lies, and only activations 1, 2, 3 and deltas 2, 1 are exchanged (32 x H halves). The
//         last layer, 10 neurons, every block does for itself. What nobody waits for (updates, the next images) is done
//         while words are on their way.
// Buys    H = 256: 1,940 products of 16 x 8 x 16 a block and step, 8 clocks each on each of 4 tensor cores: 3,900
//         clocks, 2.2 us. Five exchanges of 0.3 us, eight barriers and sums over warps of 0.1 us, 0.6 us to round
//         58,000 weights: 5 us a step. H = 128: 720 products, 0.8 us, and 3.5 us in all. H = 512 on 32 blocks: 1,700
//         products, 1.9 us; five exchanges of 1.1 us; 0.4 us to fetch the images, which have no second place: 9 us.
// Limits  At most 32 images a batch (smaller ones are padded), and 512 neurons a layer: a block's shared memory holds four
//         whole matrices of 32 x H, and its registers the weights. Layers are padded to a multiple of 128 neurons. 124 of
//         132 multiprocessors idle at H <= 256, where a step is a chain of waits and each exchange one more.
#include "mnist_train.cuh"

#define WIDTH ((HIDDEN + 127) / 128 * 128)  // neurons of a layer and those that fill it up, which stay 0
#if __CUDA_ARCH__ >= 900 && WIDTH <= 256
#define CLUSTER 1
#else
#define CLUSTER 0
#endif

#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
#define SHARED_LIMIT (227 * 1024)
#elif __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 870
#define SHARED_LIMIT (163 * 1024)
#elif __CUDA_ARCH__ >= 860
#define SHARED_LIMIT (99 * 1024)
#else
#define SHARED_LIMIT (64 * 1024)
#endif

#define ROWS 32  // images, and those that fill the batch up, whose deltas are 0
// Images, exchanged matrices, sums of warps, and what is small: no less than shared_t is.
#define PIXEL_SETS (CLUSTER ? 2 : 1)
#define HIDDEN_SETS (CLUSTER ? 5 : 4)
#define SHARED_NEEDED (ROWS * (PIXEL_SETS * 792 + HIDDEN_SETS * (WIDTH + 8)) * 2 + ROWS * 8 * 24 * 4 + 6 * 1024)
#if BATCH > ROWS
#error SKIP: batches of at most 32 images
#elif __CUDA_ARCH__ < 800
#error SKIP: needs products of 16 x 8 x 16 (compute capability 8.0)
#elif SHARED_NEEDED > SHARED_LIMIT
#error SKIP: the activations of layers this wide do not fit in shared memory
#endif

constexpr unsigned BLOCKS = CLUSTER ? 8 : WIDTH / 16;
constexpr unsigned OWN = WIDTH / BLOCKS, PARTS = OWN / 16;             // neurons of a block; sixteens of them
// Warps that share a row of W. With 8 and two parts, a thread has 128 registers, and weights fill half of them.
constexpr unsigned GROUPS = PARTS == 1 ? 8 : 4;
constexpr unsigned WARPS = GROUPS * PARTS, THREADS = WARPS * 32;
constexpr unsigned PIXEL_TILES = (PIXELS / 16 + GROUPS - 1) / GROUPS;  // of 16 x 16 weights, a warp
constexpr unsigned TILES = WIDTH / 16 / GROUPS, LAST_TILES = WIDTH / 16 / WARPS;
// Rows in shared memory, in halves: an odd number of 16 bytes, so that eight rows lie in eight groups of banks.
constexpr unsigned PIXEL_ROW = PIXELS + 8, HIDDEN_ROW = WIDTH + 8, OWN_ROW = OWN + 8, LAST_ROW = PADDED_CLASSES + 8;
constexpr unsigned SUM_ROW = OWN + 8, LOGIT_ROW = PADDED_CLASSES + 4;  // in floats, for stores of 8 bytes
constexpr unsigned SUMS = GROUPS * SUM_ROW > WARPS * LOGIT_ROW ? GROUPS * SUM_ROW : WARPS * LOGIT_ROW;
constexpr unsigned PAIRS = ROWS * OWN / 2 / THREADS;  // of neighbouring neurons of an image: sums that a thread adds up
static_assert(PAIRS * THREADS * 2 == ROWS * OWN, "every thread has as many");

struct shared_t {
    half pixels[PIXEL_SETS][ROWS][PIXEL_ROW], hidden[HIDDEN_SETS][ROWS][HIDDEN_ROW];
    half delta_0[ROWS][OWN_ROW], delta_3[ROWS][LAST_ROW];
    float partial[ROWS * SUMS];
    float bias[3][OWN], last_bias[PADDED_CLASSES], losses[ROWS];
    unsigned image[2][ROWS], labels[2][ROWS];  // of even and odd steps
    unsigned long long arrived[5];
};
static_assert(sizeof(shared_t) <= SHARED_LIMIT, "shared memory of a block");

PLAN = {1, 0, 0, 0};
STAGES = {
    BLOCKS_STAGE("train", STAGE_TRAINING, CLUSTER ? 0 : STAGE_COOPERATIVE, THREADS, BLOCKS, sizeof(shared_t)),
    EVALUATE_STAGE,
};

#include "persistent_ptx.cuh"

#include "persistent_exchange.cuh"
#include "persistent_layers.cuh"

struct trainer_t {
    const mnist_t &p;
    shared_t &shared;
    network_t net;
    float rate;  // over BATCH, for sums over images

    __device__ __forceinline__ trainer_t(const mnist_t &problem, shared_t &memory) : p(problem), shared(memory) {
        rate = p.rate / BATCH;
        load_network(net, p);
        for (unsigned i = threadIdx.x; i < sizeof(shared_t) / 4; i += THREADS)
            ((unsigned *)&shared)[i] = 0;
        __syncthreads();
        const unsigned i = threadIdx.x;
        for (unsigned layer = 0; layer < 3; layer++)
            if (i < OWN && first_own() + i < HIDDEN)
                shared.bias[layer][i] = __half2float(p.b[layer][first_own() + i]);
        if (i < CLASSES)
            shared.last_bias[i] = __half2float(p.b[3][i]);
        if (i < BATCH) {
            shared.image[0][i] = p.order[i];
            shared.image[1][i] = p.order[min(1u, p.steps - 1) * BATCH + i];
        }
        exchanges_begin(p, shared);
        __syncthreads();
        fetch_labels(0);
        fetch_images(0);
        copies_wait();
        __syncthreads();
    }

    // This warp's share of a tile of 16 pixels of a step's images: the lane is the image.
    __device__ __forceinline__ void fetch_tile(unsigned step, unsigned tile) {
        const unsigned row = lane_of();
        if (row >= BATCH)
            return;
        const half *from = p.images + (size_t)shared.image[step % 2][row] * PIXELS + tile * 16;
        const unsigned to = shared_address(&shared.pixels[step % PIXEL_SETS][row][tile * 16]);
#pragma unroll
        for (unsigned eight = 0; eight < 2; eight++)
            if (PARTS == 1 || eight == part_of())
                copy_async(to + eight * 16, from + eight * 8);
    }

    __device__ __forceinline__ void fetch_images(unsigned step) {
        for (unsigned tile = group_of(); tile < PIXELS / 16; tile += GROUPS)
            fetch_tile(step, tile);
    }

    // The four labels among which an image's is: copies are not smaller.
    __device__ __forceinline__ const unsigned char *label_of(unsigned step, unsigned row) const {
        return p.labels + shared.image[step % 2][row];
    }
    __device__ __forceinline__ void fetch_labels(unsigned step) {
        if (threadIdx.x < BATCH)
            copy_async_word(shared_address(&shared.labels[step % 2][threadIdx.x]),
                            (const void *)((size_t)label_of(step, threadIdx.x) / 4 * 4));
    }
    __device__ __forceinline__ unsigned fetched_label(unsigned step, unsigned row) const {
        return shared.labels[step % 2][row] >> (size_t)label_of(step, row) % 4 * 8 & 0xFF;
    }

    __device__ __forceinline__ void fetch_order(unsigned step) {
        if (threadIdx.x < BATCH)
            copy_async_word(shared_address(&shared.image[step % 2][threadIdx.x]),
                            p.order + (size_t)min(step, p.steps - 1) * BATCH + threadIdx.x);
    }

    // Blocks share the images, so that they have come from memory when all blocks ask for them.
    __device__ __forceinline__ void prefetch_images(unsigned step) {
        const unsigned row = blockIdx.x + threadIdx.x / 32 * BLOCKS, byte = lane_of() * 128;
        if (row < BATCH && byte < PIXELS * sizeof(half))
            prefetch_l2((const char *)(p.images + (size_t)shared.image[step % 2][row] * PIXELS) + byte);
    }

    __device__ __forceinline__ const half (&hidden(exchange matrix, unsigned step) const)[ROWS][HIDDEN_ROW] {
        return shared.hidden[place_of(matrix, step)];
    }

    // The block's columns of activations · Wᵀ. Each thread gets some pairs of neurons, for use(sums, row, column).
    template <unsigned N, unsigned ROW, class Use>
    __device__ __forceinline__ void product(const half (&activations)[ROWS][ROW], const fragment_t (&w)[N], Use use) {
        tile_t tiles[2][2];
        multiply(tiles, activations, w, group_of(), GROUPS);
        put_sums<SUM_ROW>(shared.partial, tiles, group_of(), part_of() * 16);
        __syncthreads();
#pragma unroll
        for (unsigned pair = 0; pair < PAIRS; pair++) {
            const unsigned i = threadIdx.x + pair * THREADS, row = i / (OWN / 2), column = i % (OWN / 2) * 2;
            float2 sum = make_float2(0, 0);
#pragma unroll
            for (unsigned group = 0; group < GROUPS; group++) {
                const float2 part = *(const float2 *)(shared.partial + (group * ROWS + row) * SUM_ROW + column);
                sum.x += part.x;
                sum.y += part.y;
            }
            use(sum, row, column);
        }
    }

    template <unsigned N, unsigned ROW>
    __device__ __forceinline__ void forward(const half (&activations)[ROWS][ROW], const fragment_t (&w)[N],
                                            const float *bias, exchange to, unsigned step) {
        product(activations, w, [&](float2 sum, unsigned row, unsigned column) {
            const half2 a = __floats2half2_rn(fmaxf(sum.x + bias[column], 0), fmaxf(sum.y + bias[column + 1], 0));
            send(shared, to, step, row, first_own() + column, a);
        });
    }

    // Where the activation is 0, the ReLU lets nothing back.
    __device__ __forceinline__ static half2 masked(float2 sum, const half *activation) {
        const float2 a = __half22float2(*(const half2 *)activation);
        return __floats2half2_rn(a.x > 0 ? sum.x : 0, a.y > 0 ? sum.y : 0);
    }

    // Sums of the last layer, in every block, each a class of an image by lane: losses, and delta_3.
    __device__ __forceinline__ void finish_forward(unsigned step) {
        tile_t sums[2][2];
        multiply(sums, hidden(ACTIVATION_3, step), net.w3, threadIdx.x / 32, WARPS);
        put_sums<LOGIT_ROW>(shared.partial, sums, threadIdx.x / 32, 0);
        __syncthreads();
        const unsigned k = threadIdx.x % 16;
#pragma unroll
        for (unsigned row = threadIdx.x / 16; row < ROWS; row += THREADS / 16) {
            float logit = shared.last_bias[k];
#pragma unroll
            for (unsigned warp = 0; warp < WARPS; warp++)
                logit += shared.partial[(warp * ROWS + row) * LOGIT_ROW + k];
            float largest = k < CLASSES ? logit : -3.402823466e+38f;
#pragma unroll
            for (unsigned lanes = 8; lanes > 0; lanes /= 2)
                largest = fmaxf(largest, __shfl_xor_sync(EVERY_LANE, largest, lanes));
            const float power = k < CLASSES ? expf(logit - largest) : 0;
            float sum = power;
#pragma unroll
            for (unsigned lanes = 8; lanes > 0; lanes /= 2)
                sum += __shfl_xor_sync(EVERY_LANE, sum, lanes);
            const bool is_label = k == fetched_label(step, row);
            const float delta = power / sum - (is_label ? 1.0f : 0.0f);
            if (is_label)
                shared.losses[row] = logf(sum) + largest - logit;
            shared.delta_3[row][k] = __float2half_rn(row < BATCH ? delta : 0.0f);
        }
        __syncthreads();
    }

    // delta_2 = (delta_3 · W3) masked: 16 columns are one product, of 16 images and 8 neurons for each of four warps.
    __device__ __forceinline__ void begin_backward(unsigned step) {
        const unsigned m = group_of() % 2, n = group_of() / 2, lane = lane_of();
        if (n >= 2)
            return;
        fragment_t images;
        load_matrices<false>(images, shared_address(&shared.delta_3[m * 16 + lane % 16][lane / 16 * 8]));
        tile_t sums;
        multiply_add(sums, images, n == 0 ? net.back3[0] : net.back3[1], n == 0 ? net.back3[2] : net.back3[3]);
        const unsigned row = m * 16 + lane / 4, column = first_own() + part_of() * 16 + n * 8 + lane % 4 * 2;
        const half *activation = &hidden(ACTIVATION_3, step)[row][column];
        send(shared, DELTA_2, step, row, column, masked(sums.upper(), activation));
        send(shared, DELTA_2, step, row + 8, column, masked(sums.lower(), activation + 8 * HIDDEN_ROW));
    }

    __device__ __forceinline__ report_t report(unsigned layer, unsigned row) const {
        return {p.gradients[layer], row, fan_out(layer), fan_in(layer)};
    }

    template <bool REPORTS> __device__ __forceinline__ void descend_layer_3(unsigned step) {
        const half(&a)[ROWS][HIDDEN_ROW] = hidden(ACTIVATION_3, step);
        report_t to = report(3, 0);
        if (blockIdx.x != 0)
            to.gradient = nullptr;
        descend<REPORTS>(net.w3, shared.delta_3, 0, a, threadIdx.x / 32, WARPS, rate, to);
        fragment_t back[1] = {{net.back3[0], net.back3[1], net.back3[2], net.back3[3]}};
        descend<false>(back, a, first_own() + part_of() * 16, shared.delta_3, 0, 1, rate, to);
#pragma unroll
        for (unsigned k = 0; k < 4; k++)
            net.back3[k] = back[0][k];
        descend_biases<REPORTS>(shared.last_bias, CLASSES, shared.delta_3, 0, rate, to);
    }

    // Layers 1 and 2: a is what goes in, delta what comes back.
    template <bool REPORTS>
    __device__ __forceinline__ void descend_layer(fragment_t (&rows)[TILES], fragment_t (&columns)[TILES],
                                                  unsigned layer, exchange a, exchange delta, unsigned step) {
        const half(&from)[ROWS][HIDDEN_ROW] = hidden(a, step), (&back)[ROWS][HIDDEN_ROW] = hidden(delta, step);
        const unsigned own = first_own() + part_of() * 16;
        descend<REPORTS>(rows, back, own, from, group_of(), GROUPS, rate, report(layer, own));
        descend<false>(columns, from, own, back, group_of(), GROUPS, rate, report(layer, own));
        descend_biases<REPORTS>(shared.bias[layer], OWN, back, first_own(), rate, report(layer, first_own()));
    }

    template <bool REPORTS> __device__ __forceinline__ void descend_layer_1(unsigned step) {
        descend_layer<REPORTS>(net.w1, net.back1, 1, ACTIVATION_1, DELTA_1, step);
    }

    // In the grid there is room for the images of one step only: each tile makes way for the next step's.
    template <bool REPORTS> __device__ __forceinline__ void descend_layer_0(unsigned step) {
        const half(&pixels)[ROWS][PIXEL_ROW] = shared.pixels[step % PIXEL_SETS];
        descend_biases<REPORTS>(shared.bias[0], OWN, shared.delta_0, 0, rate, report(0, first_own()));
        __syncwarp();  // products are for whole warps
        descend<REPORTS>(net.w0, shared.delta_0, part_of() * 16, pixels, group_of(), GROUPS, rate,
                       report(0, first_own() + part_of() * 16), [&](unsigned tile) {
                           if (!CLUSTER)
                               fetch_tile(step + 1, tile);
                       });
    }

    __device__ __forceinline__ void write_loss(unsigned step) {
        if (blockIdx.x != 0 || threadIdx.x >= 32)
            return;
        const float sum = warp_sum(lane_of() < BATCH ? shared.losses[lane_of()] : 0);
        if (threadIdx.x == 0)
            p.losses[step] = sum / BATCH;
    }

    // A step leaves the update of layer 1 to the next one. But the first does it by itself if gradients are asked for.
    __device__ __forceinline__ unsigned first_deferred() const { return p.gradients[0] != nullptr ? 1 : 0; }

    template <bool REPORTS> __device__ __forceinline__ void step(unsigned s) {
        exchanges_expect(shared);
        if (!CLUSTER) {
            copies_wait();
            __syncwarp();
        }
        forward(shared.pixels[s % PIXEL_SETS], net.w0, shared.bias[0], ACTIVATION_1, s);
        if (s > first_deferred())
            descend_layer_1<false>(s - 1);
        if (CLUSTER)
            fetch_images(s + 1);
        else
            prefetch_images(s + 1);
        fetch_labels(s + 1);
        receive(shared, ACTIVATION_1, s);
        forward(hidden(ACTIVATION_1, s), net.w1, shared.bias[1], ACTIVATION_2, s);
        exchanges_clear(s);
        receive(shared, ACTIVATION_2, s);
        forward(hidden(ACTIVATION_2, s), net.w2, shared.bias[2], ACTIVATION_3, s);
        receive(shared, ACTIVATION_3, s);
        finish_forward(s);
        begin_backward(s);
        write_loss(s);
        fetch_order(s + 2);
        descend_layer_3<REPORTS>(s);
        receive(shared, DELTA_2, s);
        product(hidden(DELTA_2, s), net.back2, [&](float2 sum, unsigned row, unsigned column) {
            column += first_own();
            send(shared, DELTA_1, s, row, column, masked(sum, &hidden(ACTIVATION_2, s)[row][column]));
        });
        descend_layer<REPORTS>(net.w2, net.back2, 2, ACTIVATION_2, DELTA_2, s);
        receive(shared, DELTA_1, s);
        product(hidden(DELTA_1, s), net.back1, [&](float2 sum, unsigned row, unsigned column) {
            *(half2 *)&shared.delta_0[row][column] = masked(sum, &hidden(ACTIVATION_1, s)[row][first_own() + column]);
        });
        if (CLUSTER)
            copies_wait();
        __syncthreads();
        descend_layer_0<REPORTS>(s);
        if (REPORTS)
            descend_layer_1<true>(s);
    }

    __device__ __forceinline__ void finish() {
        if (p.steps > first_deferred())
            descend_layer_1<false>(p.steps - 1);
        copies_wait();
        __syncthreads();
        store_network(net, p);
        const unsigned i = threadIdx.x;
        for (unsigned layer = 0; layer < 3; layer++)
            if (i < OWN && first_own() + i < HIDDEN)
                p.b[layer][first_own() + i] = __float2half_rn(shared.bias[layer][i]);
        if (blockIdx.x == 0 && i < CLASSES)
            p.b[3][i] = __float2half_rn(shared.last_bias[i]);
        exchanges_end();
    }
};

extern "C" __global__ void
#if CLUSTER
    __cluster_dims__(8, 1, 1)
#endif
        __launch_bounds__(THREADS, 1) train(const __grid_constant__ mnist_t p) {
    extern __shared__ uint4 train_memory[];
    trainer_t trainer(p, *(shared_t *)train_memory);
    if (p.gradients[0] != nullptr)
        trainer.step<true>(0);
    for (unsigned s = p.gradients[0] != nullptr ? 1 : 0; s < p.steps; s++)
        trainer.step<false>(s);
    trainer.finish();
}
