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

constexpr unsigned THREADS = 256, POINTS_PER_BLOCK = THREADS * 32;
PLAN = {1, 0, 0, sizeof(float)};
STAGES = {
    DATA_STAGE,
    {"forward", STAGE_EPOCH, 0, THREADS, POINTS_PER_BLOCK, 0, 0, 0},
    {"loss", STAGE_LOSS, 0, THREADS, POINTS_PER_BLOCK, 0, 0, 0},
    {"gradient", STAGE_EPOCH, 0, THREADS, POINTS_PER_BLOCK, 0, 0, 0},
    {"update", STAGE_EPOCH, 0, 1, 0, 0, 0, 0},
    EVALUATE_STAGE,
};

__device__ __forceinline__ unsigned first_point() {
    return blockIdx.x * POINTS_PER_BLOCK + threadIdx.x;
}

__device__ __forceinline__ unsigned end_of_block(unsigned n) {
    return min(n, (blockIdx.x + 1) * POINTS_PER_BLOCK);
}

LINREG_KERNEL(forward, THREADS) {
    const float w = (float)p.state->w, b = (float)p.state->b;
    for (unsigned i = first_point(); i < end_of_block(p.n); i += THREADS)
        p.prediction[i] = fmaf(w, p.x[i], b);
}

LINREG_KERNEL(loss, THREADS) {
    float ee = 0;
    for (unsigned i = first_point(); i < end_of_block(p.n); i += THREADS) {
        const float e = p.prediction[i] - p.y[i];
        ee = fmaf(e, e, ee);
    }
    atomicAdd(&p.state->ee, (double)ee);
}

LINREG_KERNEL(gradient, THREADS) {
    float e_sum = 0, ex_sum = 0;
    for (unsigned i = first_point(); i < end_of_block(p.n); i += THREADS) {
        const float e = p.prediction[i] - p.y[i];
        e_sum += e;
        ex_sum = fmaf(e, p.x[i], ex_sum);
    }
    atomicAdd(&p.state->e, (double)e_sum);
    atomicAdd(&p.state->ex, (double)ex_sum);
}

LINREG_KERNEL(update, 1) {
    linreg_state &s = *p.state;
    end_epoch(p, s.e, s.ex, s.ee);
    s.e = s.ex = s.ee = 0;
}
