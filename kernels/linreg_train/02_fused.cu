// Idea    One pass over the points per epoch: forward, loss and both gradients while a point is in registers; a block
//         reduces in shared memory before it touches a global address.
// Change  Three kernels fused into one; a tree of double sums in shared memory; three atomics per block instead of two
//         per thread. The update stays a separate kernel.
// Buys    32 MB per epoch, 7 us from DRAM, 3 us from the L2; 489 blocks with three atomics each, about 1.5 us instead
//         of 250; two launches, about 7 us back to back.
// Limits  Launches; 4-byte loads, one chain per thread; eight barriers for the tree. Why |w - w64| < 1e-5: a thread
//         adds 32 errors in float32, everything else is double.
#include "linreg_train.cuh"

#ifndef PARTS
#define PARTS 1  // rung 03: 4
#endif

constexpr unsigned THREADS = 256, POINTS_PER_BLOCK = THREADS * 32;
PLAN = {PARTS, 0, 0, 0};
STAGES = {
    DATA_STAGE,
    {"fused", STAGE_EPOCH, STAGE_SPLIT, THREADS, POINTS_PER_BLOCK, 0, 0, 0},
    {"update", STAGE_EPOCH, 0, 1, 0, 0, 0, 0},
    EVALUATE_STAGE,
};

// Points first, first + THREADS, … below n.
__device__ __forceinline__ void add_range(error_sums<float> &sums, const linreg_t &p, unsigned first, unsigned n) {
    const float w = (float)p.state->w, b = (float)p.state->b, *x = p.x, *y = p.y;
#pragma unroll 4
    for (unsigned i = first; i < n; i += THREADS)
        add_point(sums, w, b, x[i], y[i]);
}

LINREG_KERNEL(fused, THREADS) {
    __shared__ double e[THREADS], ex[THREADS], ee[THREADS];
    const unsigned t = threadIdx.x, share = (p.n + PARTS - 1) / PARTS;
    const unsigned end = min(p.n, (part + 1) * share), base = part * share + blockIdx.x * POINTS_PER_BLOCK;
    error_sums<float> sums = {0, 0, 0};
    add_range(sums, p, base + t, min(end, base + POINTS_PER_BLOCK));
    e[t] = sums.e;
    ex[t] = sums.ex;
    ee[t] = sums.ee;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) {
            e[t] += e[t + half];
            ex[t] += ex[t + half];
            ee[t] += ee[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        atomicAdd(&p.state->e, e[0]);
        atomicAdd(&p.state->ex, ex[0]);
        atomicAdd(&p.state->ee, ee[0]);
    }
}

LINREG_KERNEL(update, 1) {
    linreg_state &s = *p.state;
    end_epoch(p, s.e, s.ex, s.ee);
    s.e = s.ex = s.ee = 0;
}
