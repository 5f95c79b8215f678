// Idea    All blocks of a grid wait for each other repeatedly: the cost of a grid barrier on this device. A kernel that
//         keeps its data on chip and needs the sums of all blocks in every epoch cannot be faster.
// Change  -
// Buys    The floor of persistent kernels: about 1.0 us with 132 blocks on an H200, so 200 epochs take at least 0.2 ms.
// Limits  Two round trips to the L2: one atomic per block on a counter, then polling it. A barrier whose data and
//         signal are one word, as in linreg_train's rung 06, saves one dependent trip.
#include "../common/launch.cuh"

// The threads of linreg_train's rung 06.
constexpr unsigned THREADS = 256;

// A block per multiprocessor; the host launches them together.
LAUNCH = {THREADS, 1, 1, 0};

// The counter starts at 0 and only grows, so it needs no reset: barrier k opens at (k + 1) * blocks.
__device__ __forceinline__ void grid_barrier(unsigned *counter, unsigned k) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned target = (k + 1) * gridDim.x;
        unsigned seen;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
        while (seen < target);
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS) device(unsigned *counter, unsigned *, unsigned *) {
    for (unsigned k = 0; k < BARRIERS; k++)
        grid_barrier(counter, k);
}

// Verifies the barrier: each block writes its number before it, and its neighbour reads it after.
extern "C" __global__ void __launch_bounds__(THREADS) check(unsigned *counter, unsigned *arrived, unsigned *wrong) {
    const unsigned neighbour = (blockIdx.x + 1) % gridDim.x;
    for (unsigned k = 0; k < BARRIERS; k++) {
        if (threadIdx.x == 0)
            arrived[blockIdx.x] = k + 1;
        grid_barrier(counter, k);
        if (threadIdx.x == THREADS - 1 && __ldcg(arrived + neighbour) < k + 1)
            atomicAdd(wrong, 1);
    }
}
