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

#include "common/ptx.cuh"

WORKSPACE = "16 + 8 * 1536";

// In a graph a kernel starts during the previous epoch's (rung 05).
#if defined(IN_GRAPH) && __CUDA_ARCH__ >= 900
#define OVERLAPPED 1
#else
#define OVERLAPPED 0
#endif

constexpr unsigned THREADS = 512, IN_FLIGHT = 4, BLOCKS_PER_SM = OVERLAPPED ? 1 : 2;
LAUNCHES = {{"epoch",
             {{"min(512, ", BLOCKS_PER_SM, " * sm_count, ceil_div(points - points / 5, ", THREADS * 4, "))"}},
             {THREADS},
             {},
             {},
             0,
             OVERLAPPED}};

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
    wait_for_previous_kernel(); // nothing above depends on w and b
#endif
    const float w = (float)w_of<true>(p), b = (float)b_of<true>(p);
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

BOUNDED_KERNEL(epoch, THREADS) {
#if OVERLAPPED
    start_next_kernel();
#endif
    const linreg_t p = LINREG;
    const error_sums<float> sums = my_sums(p);
    const float own[3] = {sums.e, sums.ex, sums.ee};
    double total[3];
    if (grid_sums<THREADS>(p.state, own, total) && threadIdx.x == 0)
        end_epoch(p, total[0], total[1], total[2]);
}
