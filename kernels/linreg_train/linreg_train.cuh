// What the rungs of linreg_train share: one signature, the data, sums over points, the evaluation.
//   e = w·x + b − y;  w −= rate · 2 Σe·x / n;  b −= rate · 2 Σe / n;  loss = Σe² / n
// over all n training points in each epoch. The host uploads `state` before each training: start values, and zeros
// elsewhere. LOSS_EVERY (10) comes from the workload's descriptor.
#pragma once
#include "../common/launch.cuh"
#include "../common/warp.cuh"
#include "points.cuh"

#define STATE_SLOTS 1536  // 8-byte words for the blocks' sums

struct linreg_state {
    double w, b;
    double e, ex, ee;        // sums of the current epoch, in rungs with atomics
    unsigned epoch, ticket;  // epochs done; blocks done
    double reserved[2];      // aligns the slots to 32 bytes
    double slot[STATE_SLOTS];
};

enum linreg_result { RESULT_W, RESULT_B, RESULT_LAST_LOSS, RESULT_TEST_LOSS, RESULT_LOSSES };

struct linreg_t {
    float *x, *y;            // training points
    float *x_test, *y_test;  // test points
    float *prediction;       // one per training point, if the plan has 4 bytes of scratch per item
    linreg_state *state;
    double *results;  // by linreg_result, then the losses before epochs 0, LOSS_EVERY, …
    unsigned long long seed;
    double gain;       // 2 · rate / n
    double inverse_n;  // 1 / n
    float x_step;
    unsigned points, n, n_test, epochs;
};

// bench/workloads/linreg_train/cuda.c mirrors both, with the same assertions.
static_assert(sizeof(linreg_state) == 64 + 8 * STATE_SLOTS, "the host's layout");
static_assert(sizeof(linreg_t) == 104, "the host's layout");

#define LINREG_KERNEL(name, threads)                                                                  \
    extern "C" __global__ void __launch_bounds__(threads)                                             \
        name(const __grid_constant__ linreg_t p, unsigned part)

constexpr unsigned DATA_THREADS = 256, EVALUATE_THREADS = 512;
#define DATA_STAGE {"make_data", STAGE_ONCE, 0, DATA_THREADS, DATA_THREADS * 4, 0, 0, 0}
#define EVALUATE_STAGE {"evaluate", STAGE_AFTER, 0, EVALUATE_THREADS, EVALUATE_THREADS * 4, 2, 512, 0}

template <class Number> struct error_sums {
    Number e, ex, ee;
};

// In float32: e is rounded by at most half a unit in the last place of w·x + b (below 32), 1e-6, to nearest, so that
// the errors of many points cancel; the rest moves w and b by less than 1e-6.
template <bool LOSS = true>
__device__ __forceinline__ void add_point(error_sums<float> &sums, float w, float b, float x, float y) {
    const float e = fmaf(w, x, b) - y;
    sums.e += e;
    sums.ex = fmaf(e, x, sums.ex);
    if (LOSS)
        sums.ee = fmaf(e, e, sums.ee);
}

__device__ __forceinline__ void add_points(error_sums<float> &sums, float w, float b, float4 x, float4 y) {
    add_point(sums, w, b, x.x, y.x);
    add_point(sums, w, b, x.y, y.y);
    add_point(sums, w, b, x.z, y.z);
    add_point(sums, w, b, x.w, y.w);
}

// Sums over the block, in every thread of the first warp: `Number` within warps, double across them. The caller
// synchronises before it reuses `of_warp`.
template <unsigned THREADS, unsigned N, class Number>
__device__ __forceinline__ void block_sums(const Number (&own)[N], double (&total)[N],
                                           double (&of_warp)[N][THREADS / 32]) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (unsigned k = 0; k < N; k++) {
        const Number sum = warp_sum(own[k]);
        if (lane == 0)
            of_warp[k][warp] = sum;
    }
    __syncthreads();
    if (warp == 0)
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            total[k] = warp_sum(lane < THREADS / 32 ? of_warp[k][lane] : 0.0);
}

// True in the last block of the grid to arrive, which then sees the earlier writes of the others. The counter wraps to
// 0.
__device__ __forceinline__ bool last_block(unsigned *ticket) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// Sums over the grid through one slot per block. True in the last block, whose first warp then holds the sums; slots
// are added in order, whichever block is last.
template <unsigned THREADS, unsigned N, class Number>
__device__ __forceinline__ bool grid_sums(linreg_state *state, const Number (&own)[N], double (&total)[N]) {
    __shared__ double of_warp[2][N][THREADS / 32];
    block_sums<THREADS>(own, total, of_warp[0]);
    if (threadIdx.x == 0)
        for (unsigned k = 0; k < N; k++)
            state->slot[blockIdx.x * N + k] = total[k];
    if (!last_block(&state->ticket))
        return false;
    double slots[N] = {};
    for (unsigned block = threadIdx.x; block < gridDim.x; block += THREADS)
        for (unsigned k = 0; k < N; k++)
            slots[k] += __ldcg(state->slot + block * N + k);
    block_sums<THREADS>(slots, total, of_warp[1]);
    return true;
}

// Ends an epoch, by one thread: records the loss at its start and makes one gradient step. Loads bypass the L1: with
// overlapping kernels another multiprocessor may have written last.
__device__ __forceinline__ void end_epoch(const linreg_t &p, double e, double ex, double ee) {
    linreg_state &s = *p.state;
    const unsigned epoch = __ldcg(&s.epoch);
    const double w = __ldcg(&s.w) - p.gain * ex, b = __ldcg(&s.b) - p.gain * e;
    if (epoch % LOSS_EVERY == 0)
        p.results[RESULT_LOSSES + epoch / LOSS_EVERY] = ee * p.inverse_n;
    s.w = w;
    s.b = b;
    s.epoch = epoch + 1;
    if (epoch + 1 == p.epochs) {
        p.results[RESULT_W] = w;
        p.results[RESULT_B] = b;
    }
}

// Four points per thread: one block of Philox.
LINREG_KERNEL(make_data, DATA_THREADS) {
    const unsigned block = blockIdx.x * DATA_THREADS + threadIdx.x;
    unsigned word[4];
    philox_block(p.seed, NOISE_STREAM, block, word);
    for (unsigned k = 0; k < 4; k++) {
        const unsigned i = block * 4 + k;
        if (i >= p.points)
            return;
        const float x = point_x(i, p.x_step);
        const bool test = in_test_set(i);
        (test ? p.x_test : p.x)[index_in_set(i)] = x;
        (test ? p.y_test : p.y)[index_in_set(i)] = point_y(x, word[k]);
    }
}

__device__ __forceinline__ double squares(const float *x, const float *y, unsigned n, double w, double b) {
    double sum = 0;
    for (unsigned i = blockIdx.x * EVALUATE_THREADS + threadIdx.x; i < n; i += gridDim.x * EVALUATE_THREADS) {
        const double e = w * x[i] + b - y[i];
        sum += e * e;
    }
    return sum;
}

// Loss on the training and test sets after the last epoch, in double.
LINREG_KERNEL(evaluate, EVALUATE_THREADS) {
    const double w = p.results[RESULT_W], b = p.results[RESULT_B];
    const double own[2] = {squares(p.x, p.y, p.n, w, b), squares(p.x_test, p.y_test, p.n_test, w, b)};
    double total[2];
    if (grid_sums<EVALUATE_THREADS>(p.state, own, total) && threadIdx.x == 0) {
        p.results[RESULT_LAST_LOSS] = total[0] / p.n;
        p.results[RESULT_TEST_LOSS] = total[1] / p.n_test;  // 0 / 0, NaN, without test points
    }
}
