// Idea    All blocks of a grid wait for each other, again and again: what does it cost to meet on this device? A kernel
//         that keeps its data on the chip and needs the others' sums in every epoch cannot go faster than this.
// Change  -
// Buys    The floor of persistent kernels: on an H200 about 1.0 us with 132 blocks, so 200 epochs take 0.2 ms or more.
// Limits  The way to the L2 and back, twice: one atomic a block on one counter, then polling it. A barrier in which data
//         and signal are one word, as in linreg_train's rung 06, has one such way less in its chain of dependent steps.
#include "../common/launch.cuh"

// As many threads as linreg_train's rung 06 has, which meets in this way.
constexpr unsigned THREADS = 256;

PLAN = {1, 0, 0, 0};
STAGES = {
    {"barrier", STAGE_TRAINING, STAGE_COOPERATIVE, THREADS, 1, 1, 0, 0},
    {"check", STAGE_AFTER, STAGE_COOPERATIVE, THREADS, 1, 1, 0, 0},
};

// The counter starts at 0 and only grows, so that nobody has to reset it: barrier k is open at (k + 1) * blocks.
__device__ __forceinline__ void meet(unsigned *counter, unsigned k) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned all = (k + 1) * gridDim.x;
        unsigned seen;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
        while (seen < all);
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS) barrier(unsigned *counter, unsigned *, unsigned *) {
    for (unsigned k = 0; k < BARRIERS; k++)
        meet(counter, k);
}

// Does it hold? Before each barrier a block writes the barrier's number where its neighbour reads behind it.
extern "C" __global__ void __launch_bounds__(THREADS) check(unsigned *counter, unsigned *arrived, unsigned *wrong) {
    const unsigned neighbour = (blockIdx.x + 1) % gridDim.x;
    for (unsigned k = 0; k < BARRIERS; k++) {
        if (threadIdx.x == 0)
            arrived[blockIdx.x] = k + 1;
        meet(counter, k);
        if (threadIdx.x == THREADS - 1 && __ldcg(arrived + neighbour) < k + 1)
            atomicAdd(wrong, 1);
    }
}
