// Idea    The network stays on chip: one launch for the whole training; every block owns 16 neurons of each layer and
//         keeps their weights in registers, as tensor core operands.
// Change  Up to 256 neurons per layer: a cluster of 8 or 16 blocks (sm_90), which send their columns of activations and
//         deltas to each other's shared memory. Beyond that a cooperative launch, which exchanges them through the L2.
//         A block has the rows of W for its neurons and, for the backward pass, the columns: each is updated in place,
//         and only activations 1, 2, 3 and deltas 2, 1 are exchanged (32 x H halves). Every block computes the whole
//         last layer, 10 neurons. Work off the critical path (updates, the next images) overlaps the exchanges.
// Buys    An H200 takes 4.7 us per step at H = 128, 10.3 at 512. Of the 8,500 clocks at H = 128, the first
//         layer and its update are 1,900; four products with sums over warps and the exchange 1,100 each; the exchange
//         of the first activations, which hides the update of layer 1, 700; the last layer with its softmax 800; the
//         last product 500. At 256, where a block sends and receives twice as much, an exchange takes 500 more. A warp
//         sends pieces of 128 bytes, and an image is one copy into all blocks: pieces of 16 bytes and a copy per block
//         took 2.0 us more at H = 128, and 3.1 at 256.
// Limits  At most 32 images per batch (smaller batches are padded) and 512 neurons per layer: a block's shared memory
//         holds four whole matrices of 32 x H, and its registers the weights. Layers are padded to a multiple of 128
//         neurons. 116 of 132 multiprocessors idle at H <= 256, where a step is a chain of waits. Through the L2 an
//         exchange takes 1.1 us, and the next step's images have no second buffer: 0.5 us more, and 0.3 for a fence.
#include "mnist_train.cuh"

// Neurons per layer, padded with zeros so that each of eight warps gets as many columns.
#define WIDTH ((HIDDEN + 127) / 128 * 128)
#if __CUDA_ARCH__ >= 900 && WIDTH <= 256
#define CLUSTER 1
#else
#define CLUSTER 0
#endif

#define ROWS 32  // images, padded; the deltas of the padding are 0
// Images, exchanged matrices, sums of warps, small arrays: at least sizeof(shared_t).
#define PIXEL_SETS (CLUSTER ? 2 : 1)
#define HIDDEN_SETS (CLUSTER ? 5 : 4)
#define SHARED_NEEDED (ROWS * (PIXEL_SETS * 792 + HIDDEN_SETS * WIDTH) * 2 + 2 * ROWS * 8 * 16 * 4 + 4 * 1024)
#if BATCH > ROWS
#error SKIP: batches of at most 32 images
#elif __CUDA_ARCH__ < 800
#error SKIP: needs products of 16 x 8 x 16 (compute capability 8.0)
#elif SHARED_NEEDED > SHARED_LIMIT
#error SKIP: the activations of layers this wide do not fit in shared memory
#endif

constexpr unsigned OWN = 16, BLOCKS = WIDTH / OWN;  // neurons per block
constexpr unsigned WARPS = 8, THREADS = WARPS * 32;
constexpr unsigned PIXEL_TILES = (PIXELS / 16 + WARPS - 1) / WARPS;  // of 16 x 16 weights, per warp
constexpr unsigned TILES = WIDTH / 16 / WARPS;
// In halves: an odd multiple of 16 bytes, so that eight rows lie in different banks.
constexpr unsigned PIXEL_ROW = PIXELS + 8;
static_assert(ROWS * OWN == THREADS * 2, "a thread finishes the sums of two neighbouring neurons of an image");
static_assert(OWN == PADDED_CLASSES && WARPS * 4 == ROWS, "in the last layer, of two classes of an image");

#include "persistent_ptx.cuh"

#include "persistent_layers.cuh"

struct shared_t {
    half pixels[PIXEL_SETS][ROWS][PIXEL_ROW];
    tile_rows_t hidden[HIDDEN_SETS][BLOCKS], delta_0, delta_3;
    partial_t partial[2];  // alternates: other warps may still read the previous one
    float bias[3][OWN], last_bias[PADDED_CLASSES], losses[WARPS];
    unsigned long long arrived[5], fetched[PIXEL_SETS];
};
static_assert(sizeof(shared_t) <= SHARED_NEEDED, "shared memory of a block");

LAUNCHES = {
    FIRST_LAUNCHES
    once(launch_of("train", BLOCKS, THREADS, sizeof(shared_t), CLUSTER ? 0 : COOPERATIVE, CLUSTER ? BLOCKS : 1)),
    LAST_LAUNCHES
};

#include "persistent_exchange.cuh"
#include "persistent_images.cuh"

struct trainer_t {
    const mnist_t &p;
    shared_t &shared;
    network_t net;
    images_t images;
    float rate;  // over BATCH, for sums over images

    __device__ __forceinline__ trainer_t(const mnist_t &problem, shared_t &memory) : p(problem), shared(memory) {
        rate = p.rate / BATCH;
        load_network(net, p);
        for (unsigned i = threadIdx.x; i < sizeof(shared_t) / 4; i += THREADS)
            ((unsigned *)&shared)[i] = 0;
        __syncthreads();
        images.begin(p, shared);
        exchanges_begin(p, shared);
        __syncthreads();
        const unsigned i = threadIdx.x;
        for (unsigned layer = 0; layer < 3; layer++)
            if (i < OWN && first_own() + i < HIDDEN)
                shared.bias[layer][i] = __half2float(p.b[layer][first_own() + i]);
        if (i < CLASSES)
            shared.last_bias[i] = __half2float(p.b[3][i]);
        images.fetch(p, shared, 0);
    }

    __device__ __forceinline__ tiled_t hidden(exchanged matrix, unsigned step) const {
        return {shared_address(shared.hidden[place_of(matrix, step)])};
    }
    __device__ __forceinline__ tiled_t last_delta() const { return {shared_address(shared.delta_3)}; }
    __device__ __forceinline__ pixels_t pixels(unsigned step) const {
        return {shared_address(shared.pixels[step % PIXEL_SETS])};
    }
    __device__ __forceinline__ half2 own_pair(exchanged matrix, unsigned step, unsigned row, unsigned column) const {
        return *pair_at(shared.hidden[place_of(matrix, step)][blockIdx.x], row, column);
    }

    // The block's columns of activations · Wᵀ: use(sums, row, column) for a thread's pair of neurons.
    template <unsigned TURN, unsigned N, class Matrix, class Use>
    __device__ __forceinline__ void product(const Matrix &activations, const fragment_t (&w)[N], Use use) {
        tile_t tiles[2][2];
        multiply(tiles, activations, w);
        put_sums(shared.partial[TURN], tiles);
        __syncthreads();
        const unsigned row = threadIdx.x / (OWN / 2), column = threadIdx.x % (OWN / 2) * 2;
        use(total(shared.partial[TURN], row, column), row, column);
    }

    template <unsigned TURN, unsigned N, class Matrix>
    __device__ __forceinline__ void forward(const Matrix &activations, const fragment_t (&w)[N],
                                            const float *bias, exchanged to, unsigned step) {
        product<TURN>(activations, w, [&](float2 sum, unsigned row, unsigned column) {
            const half2 a = __floats2half2_rn(fmaxf(sum.x + bias[column], 0), fmaxf(sum.y + bias[column + 1], 0));
            send(shared, to, step, row, column, a);
        });
    }

    __device__ __forceinline__ static half2 masked(float2 sum, half2 activation) {
        const float2 a = __half22float2(activation);
        return __floats2half2_rn(a.x > 0 ? sum.x : 0, a.y > 0 ? sum.y : 0);
    }

    // The last layer, in every block: eight lanes per image, two classes per lane, for delta_3. Returns the loss of an
    // image in the lane of its label, else 0.
    __device__ __forceinline__ float finish_forward(unsigned step) {
        float loss = 0;
        product<1>(hidden(ACTIVATION_3, step), net.w3, [&](float2 logit, unsigned row, unsigned k) {
            logit.x += shared.last_bias[k], logit.y += shared.last_bias[k + 1];
            half2 delta;
            loss = softmax_pair(delta, logit, row, k, images.label);
            *pair_at(shared.delta_3, row, k) = delta;
        });
        __syncthreads();
        return loss;
    }

    // delta_2 = (delta_3 · W3) masked: 16 columns are one product. A warp fills eight of its 16 rows with its four
    // images twice, once for the first eight neurons and once for the others, so that its lanes have what `send` needs.
    __device__ __forceinline__ void begin_backward(unsigned step) {
        fragment_t of_images;
        load_matrices<false>(of_images, last_delta().piece(0, warp_of() * 4 + lane_of() % 8 / 2, lane_of() / 16));
        tile_t sums[2];
        multiply_add(sums[0], of_images, net.back3[0][0], net.back3[0][2]);
        multiply_add(sums[1], of_images, net.back3[0][1], net.back3[0][3]);
        const float2 own = lane_of() / 4 % 2 == 0 ? sums[0].upper() : sums[1].upper();
        const unsigned row = threadIdx.x / (OWN / 2), column = threadIdx.x % (OWN / 2) * 2;
        send(shared, DELTA_2, step, row, column, masked(own, own_pair(ACTIVATION_3, step, row, column)));
    }

    __device__ __forceinline__ void descend_layer_3(unsigned step) {
        const tiled_t a = hidden(ACTIVATION_3, step), delta = last_delta();
        fragment_t rows[2], of_a[2];
        load_rows(rows, delta, 0);
        load_rows(of_a, a, blockIdx.x);
        descend(net.w3, rows, a, warp_of(), rate);
        descend(net.back3, of_a, delta, 0, rate);
        descend_biases(shared.last_bias, CLASSES, rows, rate);
    }

    __device__ __forceinline__ void descend_layer(fragment_t (&rows)[TILES], fragment_t (&columns)[TILES],
                                                  unsigned layer, exchanged a, exchanged delta, unsigned step) {
        const tiled_t from = hidden(a, step), back = hidden(delta, step);
        fragment_t of_delta[2], of_a[2];
        load_rows(of_delta, back, blockIdx.x);
        load_rows(of_a, from, blockIdx.x);
        descend(rows, of_delta, from, warp_of(), rate);
        descend(columns, of_a, back, warp_of(), rate);
        descend_biases(shared.bias[layer], OWN, of_delta, rate);
    }

    __device__ __forceinline__ void descend_layer_1(unsigned step) {
        descend_layer(net.w1, net.back1, 1, ACTIVATION_1, DELTA_1, step);
    }

    __device__ __forceinline__ void descend_layer_0(unsigned step) {
        fragment_t rows[2];
        load_rows(rows, {shared_address(shared.delta_0)}, 0);
        descend_biases(shared.bias[0], OWN, rows, rate);
        descend(net.w0, rows, pixels(step), warp_of(), rate);
    }

    __device__ __forceinline__ void step(unsigned s) {
        exchanges_expect(shared);
        images.wait(shared, s);
        forward<0>(pixels(s), net.w0, shared.bias[0], ACTIVATION_1, s);
        if (!CLUSTER)
            images.prefetch(p);
        if (s > 0)
            descend_layer_1(s - 1);
        receive(shared, ACTIVATION_1, s);
        forward<1>(hidden(ACTIVATION_1, s), net.w1, shared.bias[1], ACTIVATION_2, s);
        if (CLUSTER)
            images.fetch(p, shared, s + 1);
        exchanges_clear(s);
        receive(shared, ACTIVATION_2, s);
        forward<0>(hidden(ACTIVATION_2, s), net.w2, shared.bias[2], ACTIVATION_3, s);
        receive(shared, ACTIVATION_3, s);
        const float loss = finish_forward(s);
        begin_backward(s);
        sum_losses(shared.losses, loss);
        descend_layer_3(s);
        exchanges_cleared();
        receive(shared, DELTA_2, s);
        product<0>(hidden(DELTA_2, s), net.back2, [&](float2 sum, unsigned row, unsigned column) {
            send(shared, DELTA_1, s, row, column, masked(sum, own_pair(ACTIVATION_2, s, row, column)));
        });
        write_loss(p, shared.losses, s);
        descend_layer(net.w2, net.back2, 2, ACTIVATION_2, DELTA_2, s);
        receive(shared, DELTA_1, s);
        product<1>(hidden(DELTA_1, s), net.back1, [&](float2 sum, unsigned row, unsigned column) {
            *pair_at(shared.delta_0, row, column) = masked(sum, own_pair(ACTIVATION_1, s, row, column));
        });
        __syncthreads();
        descend_layer_0(s);
        if (!CLUSTER) {
            __syncthreads();
            images.fetch(p, shared, s + 1);
        }
    }

    __device__ __forceinline__ void finish() {
        descend_layer_1(p.steps - 1);
        images.wait(shared, p.steps);
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

PROBLEM_KERNEL(train, __launch_bounds__(THREADS, 1)) {
    extern __shared__ uint4 train_memory[];
    trainer_t trainer(p, *(shared_t *)train_memory);
    for (unsigned s = 0; s < p.steps; s++)
        trainer.step(s);
    trainer.finish();
}
