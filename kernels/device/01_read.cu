// Idea    Read a buffer that fits into the L2 repeatedly: the rate at which the L2 feeds the multiprocessors. Cases
//         whose data stay in the L2 are compared with this rate, not with DRAM's.
// Change  -
// Buys    The L2's roof: 10 to 12 TB/s on an H200, where a device-to-device copy of the same bytes, which also writes
//         and starts anew each time, reaches half of it.
// Limits  The L2: 16-byte loads past the L1 (ld.global.cg), eight in flight per thread, PASSES passes over the buffer
//         to hide the launch.
#include "../common/launch.cuh"

constexpr unsigned THREADS = 512, IN_FLIGHT = 8, WORDS_PER_BLOCK = THREADS * IN_FLIGHT;
// Items are 16-byte words. The bound keeps all blocks resident.
LAUNCH = {THREADS, WORDS_PER_BLOCK, 2, 0};

extern "C" __global__ void device(const uint4 *__restrict__ words, unsigned *__restrict__ sums, unsigned n) {
    unsigned sum = 0;
    for (unsigned pass = 0; pass < PASSES; pass++) {
        // Different words in each pass, so that the compiler cannot hoist the loads.
        const unsigned turn = (blockIdx.x + pass) % gridDim.x;
        for (unsigned first = turn * WORDS_PER_BLOCK; first < n; first += gridDim.x * WORDS_PER_BLOCK) {
            uint4 word[IN_FLIGHT];
#pragma unroll
            for (unsigned i = 0; i < IN_FLIGHT; i++) {
                const unsigned at = first + i * THREADS + threadIdx.x;
                word[i] = at < n ? __ldcg(words + at) : make_uint4(0, 0, 0, 0);
            }
#pragma unroll
            for (unsigned i = 0; i < IN_FLIGHT; i++)
                sum += word[i].x + word[i].y + word[i].z + word[i].w;
        }
    }
    sums[blockIdx.x * THREADS + threadIdx.x] = sum;
}
