// Idea    Enough bytes in flight for the DRAM, and few blocks to count.
// Change  16-byte loads, eight of them per thread before the first is used; at most two blocks of 512 threads per
//         multiprocessor, all resident, which take vectors in turns. Up to 16,384 elements: one block, without count
//         and fence.
// Buys    128 bytes in each of 1024 threads: 128 KB per multiprocessor in flight, where 4.3 TB/s at 800 ns need 26 KB.
//         2^27 elements are 537 MB, 125 us at 4.3 TB/s. 264 blocks count instead of 1024.
// Limits  DRAM from about 2^24 elements on: they are 67 MB, a little more than an H200's L2. Below: the launch, and a
//         tail of about 1.5 us (block sum, fence, atomic, sums of blocks).
#include "finish.cuh"

constexpr unsigned THREADS = 512, IN_FLIGHT = 8, VECTOR = 4;
LAUNCHES = {
    {"sum", {{"max(1, (n > 16384) * min(2 * sm_count, ceil_div(n, ", THREADS * VECTOR, ")))"}}, {THREADS}}};
WORKSPACE = "8 * sm_count";

BOUNDED_KERNEL(sum, THREADS, 2) {
    const float4 *vectors = reinterpret_cast<const float4 *>(x);
    const long long count = n / VECTOR, step = (long long)gridDim.x * THREADS;
    const long long self = (long long)blockIdx.x * THREADS + threadIdx.x;
    float own = 0;
    for (long long first = self; first < count; first += IN_FLIGHT * step) {
        float4 v[IN_FLIGHT];
#pragma unroll
        for (unsigned k = 0; k < IN_FLIGHT; k++)
            v[k] = first + k * step < count ? __ldg(vectors + first + k * step) : make_float4(0, 0, 0, 0);
#pragma unroll
        for (unsigned k = 0; k < IN_FLIGHT; k++)
            own += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    }
    // The last elements, up to three.
    if (self < n % VECTOR)
        own += x[count * VECTOR + self];
    finish<THREADS>(block_sum<THREADS>(own), reinterpret_cast<float *>(workspace), y);
}
