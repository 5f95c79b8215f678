// Verdict wrong
// Each block keeps 32 of its inputs and computes if one has changed. The output is filled at random before a check, so
// what was left out is seen.
#include "right.cuh"

constexpr unsigned LOOKED_AT = 32, MOST_BLOCKS = (1 << 24) / THREADS;
__device__ unsigned seen[MOST_BLOCKS][LOOKED_AT];

KERNEL(mlp_infer) {
    const unsigned sample = SAMPLE;
    bool is_new = false;
    if (threadIdx.x < LOOKED_AT && sample < batch) {
        const unsigned bits = __float_as_uint(x[(size_t)sample * N_IN]);
        is_new = seen[blockIdx.x][threadIdx.x] != bits;
        seen[blockIdx.x][threadIdx.x] = bits;
    }
    if (__syncthreads_or(is_new) && sample < batch)
        y[sample] = right<float>(x, w, b, sample);
}
