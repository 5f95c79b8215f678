// Sums in a fixed order: the same bits in each run. No atomics on floats.
#pragma once
#include "common/workload.cuh"
#include "common/warp.cuh"

// Of the block's threads; thread 0 gets it. May be called again after a barrier.
template <unsigned THREADS> __device__ __forceinline__ float block_sum(float own) {
    __shared__ float of_warps[THREADS / 32];
    own = warp_sum(own);
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x >= 32)
        return 0;
    return warp_sum(threadIdx.x < THREADS / 32 ? of_warps[threadIdx.x] : 0);
}

// The sum of `count` numbers that other blocks wrote; thread 0 gets it.
template <unsigned THREADS> __device__ __forceinline__ float sum_of_blocks(const float *of_blocks, unsigned count) {
    float own = 0;
    for (unsigned i = threadIdx.x; i < count; i += THREADS)
        own += __ldcg(of_blocks + i);
    return block_sum<THREADS>(own);
}
