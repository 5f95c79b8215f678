// The largest of some numbers, and the sum of their exponentials relative to it (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018). Two of them make one of all numbers, so a row is read once for both.
#pragma once
#include "common/warp.cuh"

struct online_t {
    float largest, sum;
};

// Of no numbers. Not -infinity: the difference to it would be NaN.
constexpr float LOWEST = -3.402823466e38f;

__device__ __forceinline__ online_t join(online_t a, online_t b) {
    const float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
}

// Of all lanes of groups of LANES; each lane gets it.
template <unsigned LANES> __device__ __forceinline__ online_t join_lanes(online_t own) {
    const float largest =
        over_lanes<LANES>(own.largest, [](float a, float b) { return fmaxf(a, b); });
    return {largest, sum_over_lanes<LANES>(own.sum * __expf(own.largest - largest))};
}

// Of N in shared memory.
template <unsigned N> __device__ __forceinline__ online_t join_stored(const float *largest, const float *sum) {
    online_t own = {LOWEST, 0};
#pragma unroll
    for (unsigned i = 0; i < N; i += 32)
        if (N % 32 == 0 || i + threadIdx.x % 32 < N)
            own = join(own, {largest[i + threadIdx.x % 32], sum[i + threadIdx.x % 32]});
    return join_lanes<32>(own);
}
