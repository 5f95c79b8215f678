// Verdict wrong
// Leaves out the last row.
#include "right.cuh"

KERNEL(row_shares) {
    const size_t row = blockIdx.x * ROWS_A_BLOCK + threadIdx.y;
    if (row + 1 < rows)
        write_row(x, y, row, row);
}
