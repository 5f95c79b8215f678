// Idea    Unfused, as the study's first version: forward, loss, gradient and update are separate kernels, and each
//         thread adds its sums with global atomics.
// Change  None: the start of the ladder. (The loss runs only in epochs that record it.)
// Buys    Nothing. 4 M points, one epoch: forward reads x and writes predictions, 32 MB; the gradient reads
//         predictions, x and y, 48 MB: 80 MB instead of 32, 19 us at 4.3 TB/s, three launches, about 10 us more; and
//         two atomics per thread of 32 points, 250,000 on two addresses, which the L2 serialises at about 1 ns each:
//         250 us.
// Limits  Atomics on one address. Why |w - w64| < 1e-5: a thread adds 32 errors in float32, everything else is double;
//         the order of atomics changes only the last bits of the doubles.
#include "linreg_train.cuh"

WORKSPACE = "16 + 4 * " TRAINING_POINTS;

constexpr unsigned THREADS = 256, POINTS_PER_BLOCK = THREADS * 32;
#define BLOCKS {{"ceil_div(" TRAINING_POINTS ", ", POINTS_PER_BLOCK, ")"}}
LAUNCHES = {
    {"forward", BLOCKS, {THREADS}},
    every("10", {"loss", BLOCKS, {THREADS}}),
    {"backward", BLOCKS, {THREADS}},
    {"update"},
};

__device__ __forceinline__ float *predictions(const linreg_t &p) {
    return (float *)p.state->slot;
}

__device__ __forceinline__ unsigned first_point() {
    return blockIdx.x * POINTS_PER_BLOCK + threadIdx.x;
}

__device__ __forceinline__ unsigned end_of_block(unsigned n) {
    return min(n, (blockIdx.x + 1) * POINTS_PER_BLOCK);
}

BOUNDED_KERNEL(forward, THREADS) {
    const linreg_t p = LINREG;
    const float w_now = (float)w_of(p), b_now = (float)b_of(p);
    for (unsigned i = first_point(); i < end_of_block(p.n); i += THREADS)
        predictions(p)[i] = fmaf(w_now, p.x[i], b_now);
}

BOUNDED_KERNEL(loss, THREADS) {
    const linreg_t p = LINREG;
    float ee = 0;
    for (unsigned i = first_point(); i < end_of_block(p.n); i += THREADS) {
        const float e = predictions(p)[i] - p.y[i];
        ee = fmaf(e, e, ee);
    }
    atomicAdd(&epoch_sums[2], (double)ee);
}

BOUNDED_KERNEL(backward, THREADS) {
    const linreg_t p = LINREG;
    float e_sum = 0, ex_sum = 0;
    for (unsigned i = first_point(); i < end_of_block(p.n); i += THREADS) {
        const float e = predictions(p)[i] - p.y[i];
        e_sum += e;
        ex_sum = fmaf(e, p.x[i], ex_sum);
    }
    atomicAdd(&epoch_sums[0], (double)e_sum);
    atomicAdd(&epoch_sums[1], (double)ex_sum);
}

BOUNDED_KERNEL(update, 1) {
    end_epoch_of_atomics(LINREG);
}
