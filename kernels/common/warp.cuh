// Sums over the lanes of a warp.
#pragma once

constexpr unsigned EVERY_LANE = 0xFFFFFFFF;

// In every lane.
template <class Number> __device__ __forceinline__ Number warp_sum(Number value) {
#pragma unroll
    for (unsigned lanes = 16; lanes > 0; lanes /= 2)
        value += __shfl_xor_sync(EVERY_LANE, value, lanes);
    return value;
}
