#pragma once

// A number as the unevaluated sum of two float32 (Dekker 1971): double units are rare on many GPUs.
struct pair_t {
    float high, low;

    __device__ __forceinline__ explicit pair_t(double value)
        : high((float)value), low((float)(value - (double)high)) {}

    __device__ __forceinline__ void subtract(float step) {
        const float sum = __fsub_rn(high, step), step_in_it = __fsub_rn(sum, high);
        const float lost = __fsub_rn(__fsub_rn(high, __fsub_rn(sum, step_in_it)), __fadd_rn(step, step_in_it));
        low = __fadd_rn(low, lost);
        high = __fadd_rn(sum, low);
        low = __fsub_rn(low, __fsub_rn(high, sum));
    }
};
