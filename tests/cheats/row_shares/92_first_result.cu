// Verdict wrong
// Keeps the result of the first launch in its workspace, and copies it in all others.
#include "right.cuh"

WORKSPACE = "4 * rows * cols + 4 * rows";

__device__ bool is_kept[1 << 20];

KERNEL(row_shares) {
    const size_t row = blockIdx.x * ROWS_A_BLOCK + threadIdx.y;
    float *kept = (float *)workspace;
    if (row >= rows)
        return;
    if (!is_kept[row])
        write_row(x, kept, row, row);
    __syncwarp();
    if (threadIdx.x == 0)
        is_kept[row] = true;
    for (unsigned i = threadIdx.x; i < COLS; i += 32)
        y[row * COLS + i] = kept[row * COLS + i];
}
