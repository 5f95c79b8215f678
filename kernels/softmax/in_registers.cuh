// A thread's part of a row, as exponentials relative to the largest element of its warp, or group of lanes.
#pragma once
#include "common/rows.cuh"
#include "online.cuh"

template <unsigned GROUP> struct exponentials_t {
    typedef row_t<GROUP> row;
    float value[row::EACH][VECTOR];

    // Replaces elements by exponentials; returns the pair of LANES lanes.
    template <unsigned LANES> __device__ __forceinline__ online_t set(const row &elements, unsigned thread) {
        online_t own = {LOWEST, 0};
        elements.for_each(thread, [&](unsigned, unsigned, float x) { own.largest = fmaxf(own.largest, x); });
        own.largest = over_lanes<LANES>(own.largest, [](float a, float b) { return fmaxf(a, b); });
        elements.for_each(thread, [&](unsigned k, unsigned i, float x) {
            value[k][i] = __expf(x - own.largest);
            own.sum += value[k][i];
        });
        own.sum = sum_over_lanes<LANES>(own.sum);
        return own;
    }

    __device__ __forceinline__ void store(T *to, unsigned thread, float scale) const {
        row::store(to, thread, [&](unsigned k, unsigned i) { return value[k][i] * scale; });
    }
};
