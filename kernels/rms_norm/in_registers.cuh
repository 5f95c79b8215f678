// A thread's part of a row and of the weights, in registers.
#pragma once
#include "common/rows.cuh"

template <unsigned GROUP> struct norm_t {
    typedef row_t<GROUP> row;
    row elements, weights;

    // Of the elements of LANES lanes.
    template <unsigned LANES> __device__ __forceinline__ float sum_of_squares(unsigned thread) const {
        float squares = 0;
        elements.for_each(thread, [&](unsigned, unsigned, float value) { squares += value * value; });
        return sum_over_lanes<LANES>(squares);
    }

    // Returns the sum of squares of LANES lanes.
    template <unsigned LANES>
    __device__ __forceinline__ float load(const T *x, const T *weight, unsigned thread) {
        elements.load(x, thread);
        weights.load(weight, thread);
        return sum_of_squares<LANES>(thread);
    }

    __device__ __forceinline__ void store(T *y, unsigned thread, float squares, float eps) const {
        const float scale = 1 / sqrtf(squares / COLS + eps);
        row::store(y, thread, [&](unsigned k, unsigned i) {
            return elements.vectors[k][i] * scale * weights.vectors[k][i];
        });
    }
};

// The sum of N numbers in shared memory.
template <unsigned N> __device__ __forceinline__ float sum_stored(const float *numbers) {
    float own = 0;
#pragma unroll
    for (unsigned i = 0; i < N; i += 32)
        if (N % 32 == 0 || i + threadIdx.x % 32 < N)
            own += numbers[i + threadIdx.x % 32];
    return warp_sum(own);
}
