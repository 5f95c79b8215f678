// Reductions over the lanes of a warp.
#pragma once

constexpr unsigned EVERY_LANE = 0xFFFFFFFF;

// Reduces groups of LANES neighbouring lanes; each lane gets the result.
template <unsigned LANES, class Number, class Operation>
__device__ __forceinline__ Number over_lanes(Number value, Operation operation) {
#pragma unroll
    for (unsigned lanes = LANES / 2; lanes > 0; lanes /= 2)
        value = operation(value, __shfl_xor_sync(EVERY_LANE, value, lanes));
    return value;
}

template <unsigned LANES, class Number> __device__ __forceinline__ Number sum_over_lanes(Number value) {
    return over_lanes<LANES>(value, [](Number a, Number b) { return a + b; });
}

template <class Number> __device__ __forceinline__ Number warp_sum(Number value) {
    return sum_over_lanes<32>(value);
}
