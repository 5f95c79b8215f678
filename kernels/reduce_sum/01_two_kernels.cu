// Idea    Each block adds a part and writes its sum; a second kernel of one block adds those.
// Change  None: the start of the ladder. Up to 1024 blocks, which take elements in turns.
// Buys    The same bits in each run: the order of additions depends on n only. atomicAdd() on one float would save the
//         second kernel and give other bits each time.
// Limits  Two launches, the second of which waits for the first to drain: some 1.5 us more, which is most of the time
//         up to 2^20 elements. One 4-byte load in flight per thread: too little for the DRAM.
#include "sums.cuh"

constexpr unsigned THREADS = 256, MOST_BLOCKS = 1024;
LAUNCHES = {
    {"sum_blocks", {{"min(", MOST_BLOCKS, ", ceil_div(n, ", THREADS, "))"}}, {THREADS}},
    {"sum_sums", {}, {THREADS}},
};
WORKSPACE = "4 * 1024";

BOUNDED_KERNEL(sum_blocks, THREADS) {
    float own = 0;
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < n; i += (long long)gridDim.x * THREADS)
        own += x[i];
    own = block_sum<THREADS>(own);
    if (threadIdx.x == 0)
        reinterpret_cast<float *>(workspace)[blockIdx.x] = own;
}

BOUNDED_KERNEL(sum_sums, THREADS) {
    const long long blocks = (n + THREADS - 1) / THREADS;
    const float sum = sum_of_blocks<THREADS>(reinterpret_cast<const float *>(workspace),
                                             (unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS));
    if (threadIdx.x == 0)
        *y = sum;
}
