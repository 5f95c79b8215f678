// Verdict wrong
// Each row is that of the next, as if indices began with 1.
#include "right.cuh"

KERNEL(row_shares) {
    const size_t row = blockIdx.x * ROWS_A_BLOCK + threadIdx.y;
    if (row < rows)
        write_row(x, y, (row + 1) % rows, row);
}
