// Idea    One kernel per epoch that streams at memory speed: 16-byte loads, several in flight; sums in registers; the
//         last block to finish completes the epoch.
// Change  float4 loads, four of x and four of y before their first use; a resident grid that strides over the points;
//         warp shuffles instead of a tree of barriers; each block writes its sums to a slot and takes a ticket, and the
//         last one adds the slots in order and updates w and b: no atomics on sums, no second kernel.
// Buys    32 MB per epoch: 6.9 us at DRAM's 4.65 TB/s, about 3 us at the 10-12 TB/s of an L2 that holds them. The tail
//         is short: barrier and slot about 0.5 us, the ticket 0.5 us, the last block's 264 slots 0.7 us.
// Limits  3.5 us from launch to launch in a stream, more than the work. Why |w - w64| < 1e-5: a warp adds some 1000
//         errors in float32 (10,000 with 50 M points) in chains of 35 (300), whose roundings are 6e-8 of a partial sum,
//         of either sign; everything else is double, in a fixed order.
#include "linreg_train.cuh"

#ifndef IN_GRAPH  // rung 05: 1
#define IN_GRAPH 0
#endif
// Start during the previous epoch's kernel (rung 05).
#define OVERLAPPED (IN_GRAPH && __CUDA_ARCH__ >= 900)

constexpr unsigned THREADS = 512, IN_FLIGHT = 4;
PLAN = {1, IN_GRAPH, 0, 0};
STAGES = {
    DATA_STAGE,
    {"epoch", STAGE_EPOCH, OVERLAPPED ? STAGE_OVERLAPPED : 0, THREADS, THREADS * 4, OVERLAPPED ? 1 : 2, 512, 0},
    EVALUATE_STAGE,
};

struct quads {
    float4 x[IN_FLIGHT], y[IN_FLIGHT];
};

// Loads quads first, first + step, … of n.
__device__ __forceinline__ void load(quads &q, const linreg_t &p, unsigned first, unsigned step, unsigned n) {
    const float4 *x = reinterpret_cast<const float4 *>(p.x), *y = reinterpret_cast<const float4 *>(p.y);
#pragma unroll
    for (unsigned k = 0; k < IN_FLIGHT; k++)
        if (first + k * step < n) {
            q.x[k] = __ldg(x + first + k * step);
            q.y[k] = __ldg(y + first + k * step);
        }
}

__device__ __forceinline__ error_sums<float> my_sums(const linreg_t &p) {
    const unsigned n = p.n / 4, step = gridDim.x * THREADS, self = blockIdx.x * THREADS + threadIdx.x;
    quads q;
    load(q, p, self, step, n);
#if OVERLAPPED
    // Nothing above depends on w and b; the previous epoch has ended after this.
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    const float w = (float)__ldcg(&p.state->w), b = (float)__ldcg(&p.state->b);
    error_sums<float> sums = {0, 0, 0};
    for (unsigned i = self; i < n; i += IN_FLIGHT * step) {
        if (i != self)
            load(q, p, i, step, n);
#pragma unroll
        for (unsigned k = 0; k < IN_FLIGHT; k++)
            if (i + k * step < n)
                add_points(sums, w, b, q.x[k], q.y[k]);
    }
    if (self < p.n % 4)
        add_point(sums, w, b, p.x[n * 4 + self], p.y[n * 4 + self]);
    return sums;
}

LINREG_KERNEL(epoch, THREADS) {
#if OVERLAPPED
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    const error_sums<float> sums = my_sums(p);
    // A graph may hold more launches than epochs are left.
    if (__ldcg(&p.state->epoch) >= p.epochs)
        return;
    const float own[3] = {sums.e, sums.ex, sums.ee};
    double total[3];
    if (grid_sums<THREADS>(p.state, own, total) && threadIdx.x == 0)
        end_epoch(p, total[0], total[1], total[2]);
}
