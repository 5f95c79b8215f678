// Verdict ok
// A warp for each row.
#include "common/workload.cuh"

LAUNCHES = {{"row_l2", {"ceil_div(rows, 4)"}, {32, 4}}};

KERNEL(row_l2) {
    const size_t row = blockIdx.x * 4 + threadIdx.y;
    if (row >= rows)
        return;
    float sum = 0;
    for (unsigned i = threadIdx.x; i < COLS; i += 32)
        sum += x[row * COLS + i] * x[row * COLS + i];
    for (int lane = 16; lane > 0; lane /= 2)
        sum += __shfl_xor_sync(~0u, sum, lane);
    if (threadIdx.x == 0)
        y[row] = sqrtf(sum);
}
