// One launch for all: the last block to finish adds the sums of all blocks.
#pragma once
#include "sums.cuh"

// Blocks that have finished; 0 between runs, because atomicInc() starts again after the last one.
__device__ unsigned finished;

// Writes the sum of all blocks' sums to y. `of_block` counts in thread 0.
template <unsigned THREADS> __device__ __forceinline__ void finish(float of_block, float *of_blocks, float *y) {
    __shared__ bool is_last;
    if (gridDim.x == 1) {
        if (threadIdx.x == 0)
            *y = of_block;
        return;
    }
    if (threadIdx.x == 0) {
        __stcg(of_blocks + blockIdx.x, of_block);
        __threadfence();  // the sum is visible before the count is
        is_last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();  // the others' sums are read after it
    }
    __syncthreads();
    if (!is_last)
        return;
    const float sum = sum_of_blocks<THREADS>(of_blocks, gridDim.x);
    if (threadIdx.x == 0)
        *y = sum;
}
