// Idea    The points stay on chip: one launch for all epochs, in which every thread keeps its points in registers and
//         shared memory, with one grid barrier per epoch.
// Change  The number of blocks balances work against the barrier (grid_reduce.cuh). Up to 8,192 training points: one
//         block. What fits the registers of eight multiprocessors: a cluster of eight (sm_90), which exchanges sums
//         through distributed shared memory. Beyond that: a cooperative launch of one block per multiprocessor, which
//         exchanges them through the L2. Every block adds all sums in the same order and makes the same step, so
//         nothing is sent back.
// Buys    4 M points on 132 multiprocessors: 30,304 each, 242 KB. At 4 instructions per point and 128 lanes 950 clocks,
//         0.48 us; the third of the points in shared memory takes 600 clocks at 128 bytes each, concurrently. Shuffles,
//         two barriers and the step 0.2 us, a word to all blocks through the L2 about 0.7: 1.4 us per epoch, 0.28 ms
//         for 200. One block: 376 clocks of dependent steps, 0.19 us, and 0.07 for 4,000 points.
// Limits  Measured 2.1 us at 4 M: registers are read at two thirds of the issue rate, and 132 blocks contend for the
//         same words of the L2. Beyond 6.6 M points (132 multiprocessors) a block streams what its shared memory cannot
//         hold in each epoch, at the DRAM rate: 40 M points, less 3.8 M, are 290 MB, 62 us.
//         Why |w - w64| < 1e-5: sums are float32 in chains of 60 at 4 M points (99 where the chip is full, 300 when 40
//         M are streamed), then pairwise; each rounding is 6e-8 of a partial sum, of either sign, an error of the mean
//         gradient of at most 1e-8, which the next steps correct; w and b are pairs of float32, 48 bits, so small steps
//         are not lost. What remains is rounding w to float32 where errors are computed, 1e-7.
#include "constant_points.cuh"
#include "linreg_train.cuh"
#include "pair.cuh"

#define CLUSTER_BLOCKS 8  // the largest portable cluster size
#if N_TRAIN <= 8192
#define ALONE 1
#elif __CUDA_ARCH__ >= 900 && N_TRAIN <= CLUSTER_BLOCKS * 256 * 44 * 2
#define CLUSTER 1
#endif

constexpr unsigned MAX_BLOCKS = 192;
// BLOCKS 0: one per multiprocessor. REGISTER_PAIRS: pairs of points that a thread keeps in registers, up to 176 of its
// 255. Few warps reduce faster; more of them stream better.
#if ALONE
constexpr unsigned THREADS = 128, BLOCKS = 1;
#elif CLUSTER
constexpr unsigned THREADS = 256, BLOCKS = CLUSTER_BLOCKS;
#else
constexpr bool STREAMS = N_TRAIN > 7000000;  // too many for 132 multiprocessors
constexpr unsigned THREADS = STREAMS ? 512 : 256, BLOCKS = 0, REGISTER_PAIRS = STREAMS ? 18 : 42;
#endif
constexpr unsigned WARPS = THREADS / 32;

// Points per block: a multiple of four, to align 16-byte loads.
__device__ __forceinline__ constexpr unsigned share_of(unsigned n, unsigned blocks) {
    return (n + blocks - 1) / blocks / 4 * 4 + 4;
}

#if ALONE || CLUSTER
constexpr unsigned ROUNDS = share_of(N_TRAIN, BLOCKS) / (2 * THREADS), REGISTER_PAIRS = ROUNDS > 0 ? ROUNDS : 1;
constexpr unsigned SHARED_PAIRS = 0;
#else
constexpr unsigned SHARED_PAIRS = (SHARED_LIMIT - 3 * 1024) / (THREADS * sizeof(float4));
#endif

#if ALONE
LAUNCHES = {every("epochs", {"train", {}, {THREADS}})};
#elif CLUSTER
LAUNCHES = {every("epochs", {"train", {BLOCKS}, {THREADS}, {}, {BLOCKS}})};
#else
LAUNCHES = {every("epochs", {"train",
                             {{"min(", MAX_BLOCKS, ", sm_count, ", (N_TRAIN + 4095) / 4096, ")"}},
                             {THREADS},
                             {SHARED_PAIRS * THREADS * sizeof(float4)},
                             {},
                             1})};
#endif

#include "grid_reduce.cuh"

// A pair is x, x', y, y'. Two independent sums shorten the chains.
template <bool LOSS> __device__ __forceinline__ void add(sums_t (&sums)[2], float w, float b, float4 pair) {
    add_point<LOSS>(sums[0], w, b, pair.x, pair.z);
    add_point<LOSS>(sums[1], w, b, pair.y, pair.w);
}

// The points of one block. A round is a pair per thread.
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

// Points on chip: in registers first, then in shared memory, and up to two per thread that fill no round.
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

    // Loads a pair from shared memory while pairs in registers are added.
    template <bool LOSS>
    __device__ __forceinline__ void add_all(sums_t (&sums)[2], float w, float b, unsigned shared_rounds) const {
#pragma unroll
        for (unsigned k = 0; k < REGISTER_PAIRS; k += 2) {
            const bool also_shared = SHARED_PAIRS > 0 && k / 2 < shared_rounds;
            float4 pair;
            if (also_shared)
                pair = in_shared[k / 2 * THREADS];
            add<LOSS>(sums, w, b, in_registers[k]);
            if (k + 1 < REGISTER_PAIRS)
                add<LOSS>(sums, w, b, in_registers[k + 1]);
            if (also_shared)
                add<LOSS>(sums, w, b, pair);
        }
        if (SHARED_PAIRS > 0)
#pragma unroll 4
            for (unsigned k = (REGISTER_PAIRS + 1) / 2; k < shared_rounds; k++)
                add<LOSS>(sums, w, b, in_shared[k * THREADS]);
    }

    template <bool LOSS> __device__ __forceinline__ sums_t sums(float w, float b) const {
        sums_t sums[2] = {};
        if (rounds >= REGISTER_PAIRS) {
            add_all<LOSS>(sums, w, b, rounds - REGISTER_PAIRS);
        } else {
#pragma unroll
            for (unsigned k = 0; k < REGISTER_PAIRS; k++) {
                if (k >= rounds)
                    break;
                add<LOSS>(sums, w, b, in_registers[k]);
            }
        }
        if (n_rest > 0)
            add_point<LOSS>(sums[0], w, b, rest.x, rest.z);
        if (n_rest > 1)
            add_point<LOSS>(sums[1], w, b, rest.y, rest.w);
        return sums[0] + sums[1];
    }
};

#if !ALONE && !CLUSTER
// Too many points for the chip: shared memory is full, and the rest is loaded in every epoch, 16 bytes at a time.
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
        add_point<LOSS>(sums[0], w, b, x.x, y.x);
        add_point<LOSS>(sums[1], w, b, x.y, y.y);
        add_point<LOSS>(sums[0], w, b, x.z, y.z);
        add_point<LOSS>(sums[1], w, b, x.w, y.w);
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
            add_point<LOSS>(sums[0], w, b, x[n4 * 4 + threadIdx.x], y[n4 * 4 + threadIdx.x]);
#pragma unroll 4
        for (unsigned k = 0; k < SHARED_PAIRS; k++)
            add<LOSS>(sums, w, b, in_shared[k * THREADS]);
        return sums[0] + sums[1];
    }
};
#endif

template <class Points>
__device__ __forceinline__ void train_on(const linreg_t &p, const Points &points, unsigned blocks,
                                         partial_sums_t &partial) {
    pair_t w(*p.w), b(*p.b);
    const float gain = (float)p.gain;
    const bool writes = blockIdx.x == 0 && threadIdx.x == 0;
    const unsigned first_tag = first_reduce_tag();
    for (unsigned epoch = 0; epoch < p.epochs; epoch++) {
        sums_t sums;
        if (epoch % LOSS_EVERY == 0) {
            sums = all_sums<true>(points.template sums<true>(w.high, b.high), blocks, first_tag + epoch, partial);
            if (writes)
                p.loss[epoch / LOSS_EVERY] = (float)(sums.ee * p.inverse_n);
        } else {
            sums = all_sums<false>(points.template sums<false>(w.high, b.high), blocks, first_tag + epoch, partial);
        }
        w.subtract(__fmul_rn(gain, sums.ex));
        b.subtract(__fmul_rn(gain, sums.e));
    }
    if (writes) {
        *p.w = (float)((double)w.high + w.low);
        *p.b = (float)((double)b.high + b.low);
        save_reduce_tag(first_tag + p.epochs);
    }
}

BOUNDED_KERNEL(train, THREADS) {
    extern __shared__ float4 shared[];
    __shared__ partial_sums_t partial;
    const linreg_t p = LINREG;
    const unsigned blocks = BLOCKS > 0 ? BLOCKS : gridDim.x;
    const unsigned share = share_of(p.n, blocks);
    const unsigned first = min(p.n, blockIdx.x * share);
    const points_t own = {p.x + first, p.y + first, min(p.n - first, share)};
#if CLUSTER
    prepare_grid_reduce(partial);
#endif
#if !ALONE && !CLUSTER
    if (own.n / (2 * THREADS) > REGISTER_PAIRS + SHARED_PAIRS)
        return train_on(p, streamed_t(own, shared), blocks, partial);
#endif
    train_on(p, kept_t(own, shared), blocks, partial);
#if CLUSTER
    cluster_barrier();  // a block must not exit while another writes to its shared memory
#endif
}
