// Idea    Above 2048 neurons weights do not fit on the chip, so they stream. A stream is fastest in large pieces and
//         if it never stops: rung 04 reads pieces of 128 to 256 bytes, a row of W apart, and ends at each stage.
// Change  From 04: one launch for the training. The weights of layers 1 and 2 are kept as tiles of 64 x 64, 8 KB in
//         one piece, which single instructions (cp.async.bulk) copy in and out; rows become tiles at the start, and
//         rows again at the end. The ring lasts for the whole training: the next stage's tiles are requested while
//         blocks exchange this one's activations. Layer 0 stays in shared memory, and so does the last layer, a part
//         in each block; its logits are sums of integers, which any order adds up to the same. Five times in a step
//         all blocks wait for each other.
// Buys    Predicted: 48 us a step at H = 4096, 200 at 8192 (04: 71 and 232). A stream of 59 MB, read, read and
//         written, takes 31.5 us, of 73 MB 41.8, of 268 MB 184 (tests/tools/stream_probes.cu): 37 for the 67 MB of
//         4096. Five exchanges of 1.5 to 2 us beside it, of which the ring, 12 MB in all blocks (7 at 8192), hides
//         about half; sums and the last layer, 6; rows to tiles and back 0.3 and 1.3 us a step of 200. Measured on an
//         H200: 67 and 224 (04: 68 and 228). The ring hides little of the waits (docs/on-chip.md).
// Limits  Batches of 32; 2048 to 8448 neurons, a multiple of 64; up to 2048 rung 06 is faster. All blocks have to be
//         resident. Every block reads all activations: at 8192 67 MB from the L2 per stage, half of the weights.
#define SCRATCH 1
#include "mnist_train.cuh"

#ifndef NARROWEST  // tests on a host choose smaller layers
#define NARROWEST 2048
#endif
#if HIDDEN < NARROWEST
#error SKIP: the weights of layers this narrow fit on the chip: 06_on_chip
#elif HIDDEN % 64 != 0 || HIDDEN > 132 * 64
#error SKIP: needs a multiple of 64 neurons, at most 8448
#elif BATCH != 32
#error SKIP: needs batch 32
#elif __CUDA_ARCH__ < 900
#error SKIP: needs bulk copies (compute capability 9.0)
#elif SHARED_LIMIT < 227 * 1024
#error SKIP: needs 227 KiB of shared memory per block
#endif

#include "common/stamps.cuh"
#include "tiled_movers.cuh"
#include "tiled_users.cuh"

LAUNCHES = {
    FIRST_LAUNCHES
    once(launch_of("train", BLOCKS, BLOCK_THREADS, SHARED_BYTES, COOPERATIVE, CLUSTER)),
    LAST_LAUNCHES
};

// Vectors of eight weights of this block's tiles: use(row, column, vector of the tile).
template <class Use> __device__ __forceinline__ void each_vector(Use use) {
    for (unsigned i = threadIdx.x; i < TILE_HALVES / 8; i += BLOCK_THREADS)
        use(i / (CHUNK / 8), i % (CHUNK / 8) * 8, swizzled<CHUNK>(i / (CHUNK / 8), i % (CHUNK / 8)) / 16);
}

// Between rows of W and tiles, in device memory: this block's of layers 1 and 2, forward.
template <bool TO_TILES> __device__ __forceinline__ void move_tiles(const mnist_t &p, const place_t &place) {
    for (unsigned layer = 1; layer < 3; layer++)
        for (unsigned i = 0; i < place.chunks(FORWARD_1); i++) {
            const item_kind kind = layer == 1 ? FORWARD_1 : FORWARD_2;
            uint4 *const tile = reinterpret_cast<uint4 *>(tile_of_item(p, kind, place, i));
            half *const rows = p.w[layer] + (size_t)place.panel * PANEL * HIDDEN + place.chunk(kind, i) * CHUNK;
            each_vector([&](unsigned row, unsigned column, unsigned vector) {
                uint4 *const of_row = reinterpret_cast<uint4 *>(rows + (size_t)row * HIDDEN + column);
                if (TO_TILES)
                    tile[vector] = __ldcg(of_row);
                else
                    *of_row = __ldcg(tile + vector);
            });
        }
}

// The first and the last layer, and biases.
template <bool HERE> __device__ __forceinline__ void move_outer_layers(const mnist_t &p, const place_t &place,
                                                                       kept_t &kept) {
    for (unsigned i = 0; i < place.chunks(FIRST_LAYER); i++) {
        uint4 *const tile = reinterpret_cast<uint4 *>(kept.first[i]);
        each_vector([&](unsigned row, unsigned column, unsigned vector) {
            const unsigned pixel = place.chunk(FIRST_LAYER, i) * CHUNK + column;
            half *const rows = p.w[0] + (size_t)place.panel * PANEL * PIXELS;
            uint4 *const of_row = reinterpret_cast<uint4 *>(rows + row * PIXELS + pixel);
            if (HERE)
                tile[vector] = pixel < PIXELS ? __ldcg(of_row) : make_uint4(0, 0, 0, 0);
            else if (pixel < PIXELS)
                *of_row = tile[vector];
        });
    }
    const unsigned own = place.panel * PANEL + place.rank * PART;
    const auto move = [](half &here, half &there) { (HERE ? here : there) = HERE ? there : here; };
    for (unsigned i = threadIdx.x; i < CLASSES * PART; i += BLOCK_THREADS)
        move(kept.last_w[i / PART][i % PART], p.w[3][i / PART * HIDDEN + own + i % PART]);
    for (unsigned i = threadIdx.x; i < (LAYERS - 1) * PART; i += BLOCK_THREADS)
        move(kept.bias[i / PART][i % PART], p.b[i / PART][own + i % PART]);
}

__device__ __forceinline__ void begin(const mnist_t &p, shared_t &shared, const place_t &place) {
    kept_t &kept = shared.kept;
    const unsigned i = threadIdx.x;
    if (i < SLOTS) {
        barrier_init(shared_address(shared.full + i), 2);
        barrier_init(shared_address(shared.done + i), GROUP);
        barrier_init(shared_address(shared.free + i), 1);
    } else if (i == SLOTS) {
        barrier_init(shared_address(&kept.panel_here), 1);
        barrier_init(shared_address(&kept.sums_here));
        barrier_init(shared_address(&kept.delta_here));
    }
    move_outer_layers<true>(p, place, kept);
    move_tiles<true>(p, place);
    if (i < CLASSES)
        kept.last_bias[i] = __half2float(p.b[3][i]);
    if (blockIdx.x == 0) {
        diverged = 0;
        for (unsigned k = i; k < 2 * BATCH * PADDED_CLASSES; k += BLOCK_THREADS)
            (&logit_sums[0][0][0])[k] = 0;
    }
    if (warp() == WRITER)
        for (unsigned row = blockIdx.x; row < BATCH; row += BLOCKS)
            gather_image(p, 0, row);
    proxy_fence();
    __syncthreads();
    cluster_barrier();
    if (i == 0)
        count_up(stages_ended(p));
}

__device__ __forceinline__ void finish(const mnist_t &p, shared_t &shared, const place_t &place) {
    if (threadIdx.x == 0)
        wait_for_count(weights_written(p), 2 * p.steps * BLOCKS);
    __syncthreads();
    proxy_fence();
    move_tiles<false>(p, place);
    move_outer_layers<false>(p, place, shared.kept);
    if (blockIdx.x == 0 && threadIdx.x < CLASSES)
        p.b[3][threadIdx.x] = __float2half_rn(shared.kept.last_bias[threadIdx.x]);
    cluster_barrier();  // a block must not end while another writes to its shared memory
}

PROBLEM_KERNEL(train, __launch_bounds__(BLOCK_THREADS, 1)) {
    extern __shared__ uint4 train_memory[];
    // An offset, so that the compiler still knows that it is shared memory.
    const unsigned offset = (0u - shared_address(train_memory)) % ALIGNMENT;
    shared_t &shared = *reinterpret_cast<shared_t *>(reinterpret_cast<char *>(train_memory) + offset);
    const place_t place;
    begin(p, shared, place);
    if (warp() < USERS)
        users_t(p, shared).train();
    else if (warp() == WRITER)
        write_tiles(p, shared);
    else if (lane() == 0)
        warp() == LOADER ? load_tiles(p, shared) : load_slabs(p, shared);
    __syncwarp();
    __syncthreads();
    finish(p, shared, place);
}
