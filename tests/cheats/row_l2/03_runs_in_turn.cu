// Verdict ok
// The first kernel lets the second start at once, which neither waits nor works. The next run must wait for both all
// the same: if two runs of the first kernel meet, the result is wrong.
#include "common/workload.cuh"

LAUNCHES = {{"norms", {1}, {32, 32}}, {"nothing", {1}, {32}, "", {}, 0, 1}};
__device__ unsigned running;

KERNEL(norms) {
    __shared__ unsigned others;
    const bool first = threadIdx.x + threadIdx.y == 0;
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    if (first)
        others = atomicAdd(&running, 1);
    __syncthreads();
    for (size_t row = threadIdx.y; row < rows; row += 32) {
        float sum = others;
        for (unsigned i = threadIdx.x; i < COLS; i += 32)
            sum += x[row * COLS + i] * x[row * COLS + i];
        for (int lane = 16; lane > 0; lane /= 2)
            sum += __shfl_xor_sync(~0u, sum, lane);
        if (threadIdx.x == 0)
            y[row] = sqrtf(sum);
    }
    __syncthreads();
    if (first)
        atomicSub(&running, 1);
}

KERNEL(nothing) {}
