// Idea    Rung 06 with less to do in an epoch: fewer instructions per point, and one warp of a block does all that is
//         between its points and its next step.
// Change  From 06, the sum over a block, the exchange by words that are their own flags, the step:
//           points   e = (w·x - y) + b: b enters a thread's sums once, by their number and the sum of their x, both
//                    constant. Three instructions per point instead of four, in straight-line code, so that they
//                    overlap. 104 points of a thread in registers instead of 84, the rest in pairs in shared memory.
//           block    all threads store their sums; one warp adds them, half of its lanes each for one of the two sums.
//           exchange a word of 4 bytes holds a sum and its flag, so a block reads 1 KB instead of 2. One warp polls.
//                    128 blocks: 32 lanes read 8 words each.
//           step     by the same warp; w and b to the others with one barrier. Loss sums travel apart, to block 0 only.
// Buys    Predicted for 4 M points, per epoch: points 388 instructions a warp, two warps a scheduler, 776 clocks or
//         0.39 us at 1.98 GHz (06: 0.75, as 400,000 points take that much less); the block's sum 230 clocks, 0.12;
//         exchange 0.5: a store 0.18, at most half a load until the next one starts, a load's way back; sum of all
//         words, step and barrier 0.15. In all 1.2 us, 0.24 ms for 200 epochs; rung 06 measured 2.08 us. Without
//         straight-line code 0.3 us more. 400,000 points: 0.83 us (06: 1.35).
//         Measured on an H200: 1.97 us, 0.40 ms (06: 0.43), and 1.30 us for 400,000 points (06: 1.35). The exchange
//         takes 0.8 us, as the longest of 128 waits counts; points take 0.70, not 0.39 (docs/on-chip.md). More loads
//         under way, as asynchronous copies, were slower: 1.5 us with one, 2.4 with three.
// Limits  A hop through the L2 is nearly half of it. Needs 128 multiprocessors; up to 7.0 M training points.
//         Why |w - w64| < 1e-5: sums are float32 in chains of 62 numbers near b, then pairwise; b is added per thread,
//         before sums of many threads are rounded. A flag costs the last bit of a block's sum, alternately up and down.
//         The rest as rung 06. On the host, 4 M points and 200 epochs: 1.6e-8, and 1.2e-9 for b; losses 3.5e-7.
#include "constant_points.cuh"
#include "linreg_train.cuh"
#include "pair.cuh"

#define BLOCKS 128
#define THREADS 256
#define IN_REGISTERS 104  // points of a thread, at most
#define SHARED_PAIRS_LIMIT ((SHARED_LIMIT - 4096) / (16 * THREADS))

#if N_TRAIN <= 8192
#error SKIP: one block trains so few points sooner (rung 06)
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && N_TRAIN <= 180224
#error SKIP: a cluster of eight blocks trains so few points sooner (rung 06)
#elif N_TRAIN > BLOCKS * THREADS * (IN_REGISTERS + 2 * SHARED_PAIRS_LIMIT)
#error SKIP: more points than the chip holds (rung 06)
#endif

constexpr unsigned SHARE = (N_TRAIN + BLOCKS - 1) / BLOCKS, EACH = (SHARE + THREADS - 1) / THREADS;
constexpr unsigned REGISTER_POINTS = EACH < IN_REGISTERS ? EACH : IN_REGISTERS;
constexpr unsigned SHARED_PAIRS = (EACH - REGISTER_POINTS + 1) / 2;

LAUNCHES = {every("epochs", {"train", {BLOCKS}, {THREADS}, {SHARED_PAIRS * THREADS * sizeof(float4)}, {}, 1})};

typedef error_sums<float> sums_t;

#include "lean_sums.cuh"

// r = w·x − y, the error without b.
template <bool LOSS> __device__ __forceinline__ void add(sums_t &sums, float w, float x, float y) {
    const float r = fmaf(w, x, -y);
    sums.e += r;
    sums.ex = fmaf(r, x, sums.ex);
    if (LOSS)
        sums.ee = fmaf(r, r, sums.ee);
}

// The points of a thread. Those beyond the last one are zeros, which add nothing.
struct points_t {
    float x[REGISTER_POINTS], y[REGISTER_POINTS];
    float4 *in_shared; // x, y of two points
    float n, x_sum;

    __device__ __forceinline__ points_t(const linreg_t &p, float4 *shared)
        : in_shared(shared + threadIdx.x), n(0), x_sum(0) {
#pragma unroll
        for (unsigned k = 0; k < REGISTER_POINTS; k++) {
            const float2 point = load(p, k);
            x[k] = point.x, y[k] = point.y;
        }
#pragma unroll 4
        for (unsigned k = 0; k < SHARED_PAIRS; k++) {
            const float2 one = load(p, REGISTER_POINTS + 2 * k), other = load(p, REGISTER_POINTS + 2 * k + 1);
            in_shared[k * THREADS] = make_float4(one.x, one.y, other.x, other.y);
        }
    }

    __device__ __forceinline__ float2 load(const linreg_t &p, unsigned k) {
        const unsigned of_block = k * THREADS + threadIdx.x, i = blockIdx.x * SHARE + of_block;
        if (of_block >= SHARE || i >= p.n)
            return make_float2(0, 0);
        const float2 point = make_float2(__ldcg(p.x + i), __ldcg(p.y + i));
        n++, x_sum += point.x;
        return point;
    }

    // Pairs in shared memory are loaded while points in registers are added.
    template <bool LOSS> __device__ __forceinline__ sums_t sums(float w, float b) const {
        constexpr unsigned STRETCH = SHARED_PAIRS > 0 ? REGISTER_POINTS / SHARED_PAIRS : REGISTER_POINTS;
        sums_t sums[2] = {}; // two chains
        float4 pair;
#pragma unroll
        for (unsigned k = 0; k < REGISTER_POINTS; k++) {
            const bool also_shared = k / STRETCH < SHARED_PAIRS;
            if (also_shared && k % STRETCH == 0)
                pair = in_shared[k / STRETCH * THREADS];
            add<LOSS>(sums[k % 2], w, x[k], y[k]);
            if (also_shared && k % STRETCH == STRETCH - 1) {
                add<LOSS>(sums[0], w, pair.x, pair.y);
                add<LOSS>(sums[1], w, pair.z, pair.w);
            }
        }
        const float r = sums[0].e + sums[1].e, rx = sums[0].ex + sums[1].ex, rr = sums[0].ee + sums[1].ee;
        const float e = fmaf(b, n, r);
        return {e, fmaf(b, x_sum, rx), fmaf(b, e + r, rr)}; // Σ(r + b)² = Σr² + b (2 Σr + n b)
    }
};

BOUNDED_KERNEL(train, THREADS) {
    extern __shared__ float4 shared_memory[];
    __shared__ block_t block;
    const linreg_t p = LINREG;
    const points_t own_points(p, shared_memory);
    const unsigned first_tag = __ldcg(&previous_tags) + FIRST_TAG, warp = __shfl_sync(EVERY_LANE, threadIdx.x / 32, 0);
    pair_t own(half_of_lane() == 0 ? *p.b : *p.w); // in the first warp, by halves
    const float gain = (float)p.gain;
    float w = *p.w, b = *p.b;
    unsigned epoch = 0;
    const auto collect_last = [&] {
        if (blockIdx.x == 0 && warp == 1 && epoch % LOSS_EVERY == 1)
            collect_loss(first_tag + epoch - 1, p.loss + epoch / LOSS_EVERY, p.inverse_n);
    };
    for (; epoch < p.epochs; epoch++) {
        const bool records = epoch % LOSS_EVERY == 0;
        const unsigned tag = first_tag + epoch;
        STAMP(START, 0);
        put_sums(block, records ? own_points.sums<true>(w, b) : own_points.sums<false>(w, b));
        STAMP(POINTS, 0);
        __syncthreads();
        STAMP(BLOCK_HERE, 0);
        if (warp == 0) {
            own.subtract(__fmul_rn(gain, sum_of_blocks(sum_of_threads(block), tag)));
            if (lane_of_half() == 0)
                block.model[half_of_lane()] = own.high;
        }
        if (warp == 1 && records)
            send_loss(block, tag);
        collect_last();
        __syncthreads();
        b = block.model[0], w = block.model[1];
        STAMP(STEP, 0);
    }
    collect_last();
    // So that each training has the same flags, and with them the same bits in its sums.
    for (; epoch % FLAG_PERIOD != 0; epoch++)
        if (warp == 0)
            sum_of_blocks(0, first_tag + epoch);
    if (blockIdx.x == 0 && warp == 0 && lane_of_half() == 0) {
        *(half_of_lane() == 0 ? p.b : p.w) = (float)((double)own.high + own.low);
        previous_tags = first_tag + epoch - FIRST_TAG; // by now all blocks have read it
    }
}
