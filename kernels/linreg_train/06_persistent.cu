// Idea    The points never leave the chip: one launch for all epochs, in which every thread keeps its own points in
//         registers and shared memory, and the grid meets once an epoch.
// Change  A cooperative launch of one block a multiprocessor. A block's sums travel as 8-byte words, a float32 beside
//         the number of its epoch: whoever reads a word knows whether it is this epoch's, so the word is data and
//         barrier in one, with no flag, no fence and no atomic. Every block adds up all blocks' words in the same
//         order and makes the same step from them, so nothing is sent back. Two sets of words take turns: a block
//         writes into a set again only after it has read the other one in full, which no block fills before it is
//         done with the first.
// Buys    4 M points on 132 multiprocessors: 30,304 each, 242 KB. At 4 instructions a point and 128 lanes, 950
//         clocks; the 15 of 59 pairs a thread that lie in shared memory take 480 of them at 128 bytes a clock. With
//         13 steps of shuffles, two barriers and a step 0.25 us, and a word to all blocks about 0.8: 1.6 us an epoch,
//         0.32 ms for 200. Up to 32,768 points one block does it all and meets nobody: 0.25 us and more.
// Limits  The way through the L2 and back. Beyond 6.8 M points (132 multiprocessors) a block keeps what shared memory
//         holds and streams the rest in each epoch, at the rate of DRAM: 40 M points, less 3.8 M, are 290 MB, 62 us.
//         Why |w - w64| < 1e-5: sums are float32 in chains of at most 60 (600 when streaming), then pairwise; each
//         rounding is 6e-8 of a partial sum, of either sign, and makes the mean gradient wrong by 1e-8 at most, which
//         the next steps correct; w and b are pairs of float32, 48 bits, so small steps are not lost. What remains is
//         the rounding of w to float32 where errors are computed, 1e-7.
#include "linreg_train.cuh"

// Pairs of points that a thread keeps: 176 of its 255 registers, and as much as there is of shared memory.
#define REGISTER_PAIRS 44
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
#define SHARED_PAIRS 56  // of 227 KB a block
#elif __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 870
#define SHARED_PAIRS 40  // of 163 KB
#elif __CUDA_ARCH__ >= 860
#define SHARED_PAIRS 24  // of 99 KB
#else
#define SHARED_PAIRS 15  // of 64 KB
#endif

constexpr unsigned THREADS = 256, WARPS = THREADS / 32, MAX_BLOCKS = 192, WORDS = 4;
constexpr unsigned ONE_BLOCK = 32768;  // points: sums of several blocks cost more than they save below
static_assert(WARPS * 32 >= MAX_BLOCKS, "a lane for each block");
static_assert(2 * WORDS * MAX_BLOCKS <= STATE_SLOTS, "two sets of words");

PLAN = {1, 0, 0, 0};
STAGES = {
    DATA_STAGE,
    {"train", STAGE_TRAINING, STAGE_COOPERATIVE, THREADS, 4096, 1, MAX_BLOCKS, SHARED_PAIRS * THREADS * sizeof(float4)},
    EVALUATE_STAGE,
};

typedef error_sums<float> sums_t;
typedef unsigned long long word_t;

// What a block's threads tell each other. Nothing is overwritten before all have read it: a barrier lies in between.
struct board_t {
    float4 of_warp[2][WARPS], of_group[MAX_BLOCKS / 32];
};

template <bool LOSS> __device__ __forceinline__ void add(sums_t &sums, float w, float b, float x, float y) {
    const float e = fmaf(w, x, b) - y;
    sums.e += e;
    sums.ex = fmaf(e, x, sums.ex);
    if (LOSS)
        sums.ee = fmaf(e, e, sums.ee);
}

// A pair is x, x', y, y'; each of the two has sums of its own: shorter chains.
template <bool LOSS> __device__ __forceinline__ void add(sums_t (&sums)[2], float w, float b, float4 pair) {
    add<LOSS>(sums[0], w, b, pair.x, pair.z);
    add<LOSS>(sums[1], w, b, pair.y, pair.w);
}

__device__ __forceinline__ sums_t operator+(sums_t a, sums_t b) {
    return {a.e + b.e, a.ex + b.ex, a.ee + b.ee};
}

__device__ __forceinline__ float4 pack(sums_t sums) {
    return make_float4(sums.e, sums.ex, sums.ee, 0);
}

__device__ __forceinline__ sums_t unpack(float4 packed) {
    return {packed.x, packed.y, packed.z};
}

// Sums over groups of LANES lanes, in each of them.
template <bool LOSS, unsigned LANES> __device__ __forceinline__ sums_t lane_sums(sums_t sums) {
#pragma unroll
    for (unsigned lanes = LANES / 2; lanes > 0; lanes /= 2) {
        sums.e += __shfl_xor_sync(EVERY_LANE, sums.e, lanes);
        sums.ex += __shfl_xor_sync(EVERY_LANE, sums.ex, lanes);
        if (LOSS)
            sums.ee += __shfl_xor_sync(EVERY_LANE, sums.ee, lanes);
    }
    return sums;
}

// The points of one block that it keeps on chip: pairs of points a thread apart, THREADS pairs at a time.
struct points_t {
    const float *x, *y;
    unsigned n;
};

__device__ __forceinline__ float4 load_pair(const points_t &points, unsigned round) {
    const unsigned i = round * THREADS + threadIdx.x;
    const float2 x = __ldcg(reinterpret_cast<const float2 *>(points.x) + i);
    const float2 y = __ldcg(reinterpret_cast<const float2 *>(points.y) + i);
    return make_float4(x.x, x.y, y.x, y.y);
}

// Everything on chip: in registers first, then in shared memory, and up to two points a thread that make no full round.
struct kept_t {
    float4 in_registers[REGISTER_PAIRS], *in_shared, rest;
    unsigned rounds, n_rest;

    __device__ __forceinline__ kept_t(const points_t &points, float4 *shared) : in_shared(shared + threadIdx.x) {
        rounds = points.n / (2 * THREADS);
#pragma unroll
        for (unsigned k = 0; k < REGISTER_PAIRS; k++)
            if (k < rounds)
                in_registers[k] = load_pair(points, k);
        for (unsigned k = REGISTER_PAIRS; k < rounds; k++)
            in_shared[(k - REGISTER_PAIRS) * THREADS] = load_pair(points, k);
        const unsigned i = rounds * 2 * THREADS + threadIdx.x;
        n_rest = (i < points.n) + (i + THREADS < points.n);
        rest = make_float4(0, 0, 0, 0);
        if (n_rest > 0)
            rest.x = points.x[i], rest.z = points.y[i];
        if (n_rest > 1)
            rest.y = points.x[i + THREADS], rest.w = points.y[i + THREADS];
    }

    template <bool LOSS> __device__ __forceinline__ sums_t sums(float w, float b) const {
        sums_t sums[2] = {};
        if (rounds >= REGISTER_PAIRS) {
#pragma unroll
            for (unsigned k = 0; k < REGISTER_PAIRS; k++)
                add<LOSS>(sums, w, b, in_registers[k]);
#pragma unroll 4
            for (unsigned k = REGISTER_PAIRS; k < rounds; k++)
                add<LOSS>(sums, w, b, in_shared[(k - REGISTER_PAIRS) * THREADS]);
        } else {
#pragma unroll
            for (unsigned k = 0; k < REGISTER_PAIRS; k++) {
                if (k >= rounds)
                    break;
                add<LOSS>(sums, w, b, in_registers[k]);
            }
        }
        if (n_rest > 0)
            add<LOSS>(sums[0], w, b, rest.x, rest.z);
        if (n_rest > 1)
            add<LOSS>(sums[1], w, b, rest.y, rest.w);
        return sums[0] + sums[1];
    }
};

// More than fits: shared memory full, the rest comes from memory in every epoch, 16 bytes at a time.
struct streamed_t {
    float4 *in_shared;
    const float *x, *y;
    unsigned n;

    __device__ __forceinline__ streamed_t(const points_t &points, float4 *shared) : in_shared(shared + threadIdx.x) {
        const unsigned kept = SHARED_PAIRS * 2 * THREADS;
        for (unsigned k = 0; k < SHARED_PAIRS; k++)
            in_shared[k * THREADS] = load_pair(points, k);
        x = points.x + kept;
        y = points.y + kept;
        n = points.n - kept;
    }

    template <bool LOSS> __device__ __forceinline__ static void add_four(sums_t (&sums)[2], float w, float b, float4 x,
                                                                         float4 y) {
        add<LOSS>(sums[0], w, b, x.x, y.x);
        add<LOSS>(sums[1], w, b, x.y, y.y);
        add<LOSS>(sums[0], w, b, x.z, y.z);
        add<LOSS>(sums[1], w, b, x.w, y.w);
    }

    template <bool LOSS> __device__ __forceinline__ sums_t sums(float w, float b) const {
        constexpr unsigned IN_FLIGHT = 8;
        const float4 *x4 = reinterpret_cast<const float4 *>(x), *y4 = reinterpret_cast<const float4 *>(y);
        const unsigned n4 = n / 4;
        sums_t sums[2] = {};
        unsigned i = threadIdx.x;
        for (; i + (IN_FLIGHT - 1) * THREADS < n4; i += IN_FLIGHT * THREADS) {
            float4 xs[IN_FLIGHT], ys[IN_FLIGHT];
#pragma unroll
            for (unsigned k = 0; k < IN_FLIGHT; k++) {
                xs[k] = __ldcg(x4 + i + k * THREADS);
                ys[k] = __ldcg(y4 + i + k * THREADS);
            }
#pragma unroll
            for (unsigned k = 0; k < IN_FLIGHT; k++)
                add_four<LOSS>(sums, w, b, xs[k], ys[k]);
        }
        for (; i < n4; i += THREADS)
            add_four<LOSS>(sums, w, b, __ldcg(x4 + i), __ldcg(y4 + i));
        if (threadIdx.x < n % 4)
            add<LOSS>(sums[0], w, b, x[n4 * 4 + threadIdx.x], y[n4 * 4 + threadIdx.x]);
#pragma unroll 4
        for (unsigned k = 0; k < SHARED_PAIRS; k++)
            add<LOSS>(sums, w, b, in_shared[k * THREADS]);
        return sums[0] + sums[1];
    }
};

// Relaxed accesses at the device's scope go to the L2; each 8-byte word of one is written and read whole.
__device__ __forceinline__ void put(word_t *slot, float value, unsigned epoch) {
    const word_t word = (word_t)epoch << 32 | __float_as_uint(value);
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(slot), "l"(word) : "memory");
}

__device__ __forceinline__ bool taken(const word_t *slot, float &first, float &second, unsigned epoch) {
    word_t a, b;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(slot) : "memory");
    first = __uint_as_float((unsigned)a);
    second = __uint_as_float((unsigned)b);
    return (unsigned)(a >> 32) == epoch && (unsigned)(b >> 32) == epoch;
}

// Epochs count from 1 here: the words are zero before the first.
template <bool LOSS> __device__ __forceinline__ void publish(word_t *slot, sums_t sums, unsigned epoch) {
    const unsigned lane = threadIdx.x;
    if (lane < (LOSS ? WORDS : 2))
        put(slot + lane, lane == 0 ? sums.e : lane == 1 ? sums.ex : sums.ee, epoch);
}

template <bool LOSS> __device__ __forceinline__ sums_t wait_for(const word_t *slot, unsigned epoch) {
    sums_t sums;
    while (!taken(slot, sums.e, sums.ex, epoch))
        ;
    if (LOSS)
        while (!taken(slot + 2, sums.ee, sums.ee, epoch))
            ;
    return sums;
}

// Sums over all blocks, in all their threads: the same everywhere, to the bit.
template <bool LOSS>
__device__ __forceinline__ sums_t all_sums(sums_t sums, word_t *slots, unsigned blocks, unsigned epoch,
                                           board_t &board) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float4 *of_warp = board.of_warp[epoch % 2];
    sums = lane_sums<LOSS, 32>(sums);
    if (lane == 0)
        of_warp[warp] = pack(sums);
    __syncthreads();
    if (blocks == 1 || warp == 0)
        sums = lane_sums<LOSS, WARPS>(unpack(of_warp[lane % WARPS]));
    if (blocks == 1)
        return sums;

    word_t *set = slots + (epoch % 2) * WORDS * MAX_BLOCKS;
    const unsigned groups = (blocks + 31) / 32, other = warp * 32 + lane;
    if (warp == 0)
        publish<LOSS>(set + blockIdx.x * WORDS, sums, epoch);
    if (warp < groups) {
        sums = {0, 0, 0};
        if (other < blocks)
            sums = wait_for<LOSS>(set + other * WORDS, epoch);
        __syncwarp();
        sums = lane_sums<LOSS, 32>(sums);
        if (lane == 0)
            board.of_group[warp] = pack(sums);
    }
    __syncthreads();
    sums = unpack(board.of_group[0]);
    for (unsigned group = 1; group < groups; group++)
        sums = sums + unpack(board.of_group[group]);
    return sums;
}

// A number as the unevaluated sum of two float32 (Dekker 1971): double units are rare on many GPUs.
struct pair_t {
    float high, low;

    __device__ __forceinline__ explicit pair_t(double value)
        : high((float)value), low((float)(value - (double)high)) {}

    __device__ __forceinline__ void subtract(float step) {
        const float sum = __fsub_rn(high, step), step_in_it = __fsub_rn(sum, high);
        const float lost = __fsub_rn(__fsub_rn(high, __fsub_rn(sum, step_in_it)), __fadd_rn(step, step_in_it));
        low = __fadd_rn(low, lost);
        high = __fadd_rn(sum, low);
        low = __fsub_rn(low, __fsub_rn(high, sum));
    }
};

template <class Points>
__device__ __forceinline__ void train_on(const linreg_t &p, const Points &points, unsigned blocks, board_t &board) {
    word_t *slots = reinterpret_cast<word_t *>(p.state->slot);
    pair_t w(p.state->w), b(p.state->b);
    const float gain = (float)p.gain;
    const bool writes = blockIdx.x == 0 && threadIdx.x == 0;
    for (unsigned epoch = 0; epoch < p.epochs; epoch++) {
        sums_t sums;
        if (epoch % LOSS_EVERY == 0) {
            sums = all_sums<true>(points.template sums<true>(w.high, b.high), slots, blocks, epoch + 1, board);
            if (writes)
                p.results[RESULT_LOSSES + epoch / LOSS_EVERY] = sums.ee * p.inverse_n;
        } else {
            sums = all_sums<false>(points.template sums<false>(w.high, b.high), slots, blocks, epoch + 1, board);
        }
        w.subtract(__fmul_rn(gain, sums.ex));
        b.subtract(__fmul_rn(gain, sums.e));
    }
    if (writes) {
        p.results[RESULT_W] = (double)w.high + w.low;
        p.results[RESULT_B] = (double)b.high + b.low;
    }
}

LINREG_KERNEL(train, THREADS) {
    extern __shared__ float4 shared[];
    __shared__ board_t board;
    const unsigned blocks = p.n <= ONE_BLOCK ? 1 : gridDim.x;
    if (blockIdx.x >= blocks)
        return;
    // A multiple of four, so that 16-byte loads are aligned.
    const unsigned share = ((p.n + blocks - 1) / blocks + 3) / 4 * 4;
    const unsigned first = min(p.n, blockIdx.x * share);
    const points_t points = {p.x + first, p.y + first, min(p.n - first, share)};
    if (points.n / (2 * THREADS) <= REGISTER_PAIRS + SHARED_PAIRS)
        train_on(p, kept_t(points, shared), blocks, board);
    else
        train_on(p, streamed_t(points, shared), blocks, board);
}
