// Idea    One pass over the points per epoch: forward, loss and both gradients while a point is in registers; a block
//         reduces in shared memory before it touches a global address.
// Change  Three kernels fused into one; a tree of double sums in shared memory; three atomics per block instead of two
//         per thread. The update stays a separate kernel.
// Buys    32 MB per epoch, 7 us from DRAM, 3 us from the L2; 489 blocks with three atomics each, about 1.5 us instead
//         of 250; two launches, about 7 us back to back.
// Limits  Launches; 4-byte loads, one chain per thread; eight barriers for the tree. Why |w - w64| < 1e-5: a thread
//         adds 32 errors in float32, everything else is double.
#include "linreg_train.cuh"

WORKSPACE = "16";

constexpr unsigned THREADS = 256, POINTS_PER_BLOCK = THREADS * 32;
#ifndef PARTS // rung 03: 4
#define PARTS 1
#define PART 0
#define FUSED BOUNDED_KERNEL(fused, THREADS)
LAUNCHES = {
    {"fused", {{"ceil_div(" TRAINING_POINTS ", ", POINTS_PER_BLOCK, ")"}}, {THREADS}},
    {"update"},
};
#endif

// Points first, first + THREADS, … below n.
__device__ __forceinline__ void add_range(error_sums<float> &sums, const linreg_t &p, unsigned first, unsigned n) {
    const float w = (float)w_of(p), b = (float)b_of(p), *x = p.x, *y = p.y;
#pragma unroll 4
    for (unsigned i = first; i < n; i += THREADS)
        add_point(sums, w, b, x[i], y[i]);
}

FUSED {
    __shared__ double e[THREADS], ex[THREADS], ee[THREADS];
    const linreg_t p = LINREG;
    const unsigned t = threadIdx.x, share = (p.n + PARTS - 1) / PARTS;
    const unsigned end = min(p.n, (PART + 1) * share), base = PART * share + blockIdx.x * POINTS_PER_BLOCK;
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
        atomicAdd(&epoch_sums[0], e[0]);
        atomicAdd(&epoch_sums[1], ex[0]);
        atomicAdd(&epoch_sums[2], ee[0]);
    }
}

BOUNDED_KERNEL(update, 1) {
    end_epoch_of_atomics(LINREG);
}
