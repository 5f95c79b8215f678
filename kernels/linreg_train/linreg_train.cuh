// What the rungs share: sums over points, and what ends an epoch.
//   e = w·x + b − y;  w −= rate · 2 Σe·x / n;  b −= rate · 2 Σe / n;  loss = Σe² / n
// over all n training points, four fifths of the data set. w and b are float64 between the epochs: their small changes
// would be lost in float32.
#pragma once
#include "common/workload.cuh"

#include "common/warp.cuh"

constexpr unsigned LOSS_EVERY = 10;  // as in workload.json
#define TRAINING_POINTS "ceil_div(4 * points, 5)"

// The workspace, between two launches of an epoch.
struct state_t {
    double w, b;
    double slot[1536];  // of the blocks' sums; or predictions
};

// 0 before each training: what ends an epoch, or the last block of a launch, leaves them at 0.
__device__ double epoch_sums[3];  // of e, e·x, e², in rungs with atomics
__device__ unsigned ticket;

struct linreg_t {
    const float *x, *y;
    float *w, *b, *loss;  // w and b: of `line`
    state_t *state;
    double gain;       // 2 · rate / n
    double inverse_n;  // 1 / n
    unsigned n, epochs;
    int step;
};

__device__ __forceinline__ constexpr unsigned training_points(unsigned points) {
    return points - points / 5;
}

// In a kernel: its parameters.
#define LINREG \
    {x, y, line, line + 1, loss, (state_t *)workspace, 2 * rate * inverse_n, inverse_n, training_points((unsigned)points), \
     (unsigned)epochs, step}

// What an epoch begins with. With kernels that OVERLAP another multiprocessor may have written last: then past the L1. In
// rung 02 every warp reads: presumably why it took 2.6 to 3.1 ms for 200 epochs on an H200, not 2.4, with such loads.
template <bool OVERLAP = false> __device__ __forceinline__ double w_of(const linreg_t &p) {
    return p.step == 0 ? *p.w : OVERLAP ? __ldcg(&p.state->w) : p.state->w;
}
template <bool OVERLAP = false> __device__ __forceinline__ double b_of(const linreg_t &p) {
    return p.step == 0 ? *p.b : OVERLAP ? __ldcg(&p.state->b) : p.state->b;
}

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

// True in the last block of the grid to arrive, which then sees the earlier writes of the others. The ticket wraps to 0.
__device__ __forceinline__ bool last_block() {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// Sums over the grid through one slot per block. True in the last block, whose first warp then holds the sums; slots
// are added in order, whichever block is last.
template <unsigned THREADS, unsigned N, class Number>
__device__ __forceinline__ bool grid_sums(state_t *state, const Number (&own)[N], double (&total)[N]) {
    __shared__ double of_warp[2][N][THREADS / 32];
    block_sums<THREADS>(own, total, of_warp[0]);
    if (threadIdx.x == 0)
        for (unsigned k = 0; k < N; k++)
            state->slot[blockIdx.x * N + k] = total[k];
    if (!last_block())
        return false;
    double slots[N] = {};
    for (unsigned block = threadIdx.x; block < gridDim.x; block += THREADS)
        for (unsigned k = 0; k < N; k++)
            slots[k] += __ldcg(state->slot + block * N + k);
    block_sums<THREADS>(slots, total, of_warp[1]);
    return true;
}

// Ends an epoch, by one thread: records the loss at its start and makes one gradient step.
__device__ __forceinline__ void end_epoch(const linreg_t &p, double e, double ex, double ee) {
    const double w = w_of<true>(p) - p.gain * ex, b = b_of<true>(p) - p.gain * e;
    if (p.step % LOSS_EVERY == 0)
        p.loss[p.step / LOSS_EVERY] = (float)(ee * p.inverse_n);
    p.state->w = w;
    p.state->b = b;
    if (p.step + 1 == p.epochs) {
        *p.w = (float)w;
        *p.b = (float)b;
    }
}

// The same, of what atomics have summed.
__device__ __forceinline__ void end_epoch_of_atomics(const linreg_t &p) {
    end_epoch(p, epoch_sums[0], epoch_sums[1], epoch_sums[2]);
    epoch_sums[0] = epoch_sums[1] = epoch_sums[2] = 0;
}
