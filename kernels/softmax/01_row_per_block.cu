// Idea    One block per row: maximum, sum, quotient, each over the row in global memory.
// Change  None: the start of the ladder.
// Buys    Nothing: x is read three times, and y written once. Rows that fit into the L1 or L2 are read from there.
// Limits  Two reductions over the block per row; with few rows, few multiprocessors have work.
#include "common/workload.cuh"

constexpr unsigned THREADS = 256;
LAUNCHES = {{"softmax_rows", {"rows"}, {THREADS}}};

__device__ float reduced(float value, bool maximum) {
    __shared__ float partial[THREADS / 32];
    for (int lane = 16; lane > 0; lane /= 2) {
        const float other = __shfl_xor_sync(~0u, value, lane);
        value = maximum ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = partial[0];
    for (unsigned i = 1; i < THREADS / 32; i++)
        value = maximum ? fmaxf(value, partial[i]) : value + partial[i];
    return value;
}

KERNEL(softmax_rows) {
    const size_t row = (size_t)blockIdx.x * COLS;
    float largest = (float)x[row], sum = 0;
    for (unsigned i = threadIdx.x; i < COLS; i += THREADS)
        largest = fmaxf(largest, (float)x[row + i]);
    largest = reduced(largest, true);
    for (unsigned i = threadIdx.x; i < COLS; i += THREADS)
        sum += __expf((float)x[row + i] - largest);
    const float scale = 1 / reduced(sum, false);
    for (unsigned i = threadIdx.x; i < COLS; i += THREADS)
        y[row + i] = (T)(__expf((float)x[row + i] - largest) * scale);
}
