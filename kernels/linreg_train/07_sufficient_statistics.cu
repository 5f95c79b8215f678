// Idea    The gradient of a linear model needs only five sums over the data: Σx, Σy, Σxx, Σxy, Σyy. A different
//         algorithm, so it is marked `algorithmic` and not compared with the rest of the ladder.
// Change  One pass over the points; one thread of the last block then runs all epochs on the sums.
// Buys    32 MB once: 7 us from DRAM; an epoch is a chain of four double operations, about 25 ns: 5 us for 200. The
//         five sums of 4 M points are 20 M double operations, 1.2 us of an H200's double units.
// Limits  DRAM and two latencies. Why |w - w64| < 1e-5: products of two float32 are exact in double, and so are their
//         sums to 1e-13; the loss, a difference of terms 2000 times as large, still has 10 digits.
#include "linreg_train.cuh"

WORKSPACE = "16 + 8 * 1536";
ALGORITHMIC;

constexpr unsigned THREADS = 512;
LAUNCHES = {every("epochs", {"train",
                             {{"min(300, 2 * sm_count, ceil_div(points - points / 5, ", THREADS * 4, "))"}},
                             {THREADS}})};

struct data_sums {
    double x, y, xx, xy, yy;
};

__device__ __forceinline__ void add(data_sums &sums, float x32, float y32) {
    const double x = x32, y = y32;
    sums.x += x;
    sums.y += y;
    sums.xx = fma(x, x, sums.xx);
    sums.xy = fma(x, y, sums.xy);
    sums.yy = fma(y, y, sums.yy);
}

__device__ __forceinline__ data_sums my_sums(const linreg_t &p) {
    const float4 *x4 = reinterpret_cast<const float4 *>(p.x), *y4 = reinterpret_cast<const float4 *>(p.y);
    const unsigned n = p.n / 4, step = gridDim.x * THREADS, self = blockIdx.x * THREADS + threadIdx.x;
    data_sums sums = {0, 0, 0, 0, 0};
#pragma unroll 4
    for (unsigned i = self; i < n; i += step) {
        const float4 x = __ldg(x4 + i), y = __ldg(y4 + i);
        add(sums, x.x, y.x);
        add(sums, x.y, y.y);
        add(sums, x.z, y.z);
        add(sums, x.w, y.w);
    }
    if (self < p.n % 4)
        add(sums, p.x[n * 4 + self], p.y[n * 4 + self]);
    return sums;
}

// By one thread.
__device__ __forceinline__ void all_epochs(const linreg_t &p, const data_sums &s) {
    const double n = p.n;
    double w = *p.w, b = *p.b;
    for (unsigned epoch = 0; epoch < p.epochs; epoch++) {
        const double half_dw = fma(w, s.xx, fma(b, s.x, -s.xy)), half_db = fma(w, s.x, fma(b, n, -s.y));
        if (epoch % LOSS_EVERY == 0) {
            const double squares = w * (half_dw - s.xy) + b * (half_db - s.y) + s.yy;
            p.loss[epoch / LOSS_EVERY] = (float)(squares * p.inverse_n);
        }
        w = fma(-p.gain, half_dw, w);
        b = fma(-p.gain, half_db, b);
    }
    *p.w = (float)w;
    *p.b = (float)b;
}

BOUNDED_KERNEL(train, THREADS) {
    const linreg_t p = LINREG;
    const data_sums sums = my_sums(p);
    const double own[5] = {sums.x, sums.y, sums.xx, sums.xy, sums.yy};
    double total[5];
    if (grid_sums<THREADS>(p.state, own, total) && threadIdx.x == 0)
        all_epochs(p, {total[0], total[1], total[2], total[3], total[4]});
}
