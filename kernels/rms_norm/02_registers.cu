// Idea    Read x once: a row stays in registers between its sum of squares and its quotients.
// Change  Loads of up to 16 bytes, all of a row in flight at once, and the weights with them. Up to 1024 columns: 1 to
//         32 lanes per row, no barrier; longer rows: a block of up to 1024 threads and one barrier.
// Buys    2 * rows * cols elements of traffic, the minimum; the weights come from the L1 or L2.
// Limits  DRAM. Elements stay packed, so 16 of bf16 take 8 registers. With fewer rows than multiprocessors most of
//         them have no work: rung 03.
#if COLS > 32768
#error SKIP: a block holds at most 32768 columns in registers
#elif COLS > 16384 && (DTYPE_F32 || COLS % 2 != 0)
#error SKIP: a block holds at most 16384 columns and weights that take a register each
#endif
#include "in_registers.cuh"

LAUNCHES = {{"rms_norm_rows", {{"ceil_div(rows, ", ROWS_PER_BLOCK, ")"}}, {ROW_THREADS}}};

BOUNDED_KERNEL(rms_norm_rows, ROW_THREADS) {
    const unsigned thread = threadIdx.x % ROW_GROUP;
    const long long row = (long long)blockIdx.x * ROWS_PER_BLOCK + threadIdx.x / ROW_GROUP;
    norm_t<ROW_GROUP> norm;
    // All lanes take part in shuffles, those of rows past the last, too.
    float squares = norm.template load<SHORT_ROWS ? ROW_GROUP : 32>(x + (size_t)(row < rows ? row : rows - 1) * COLS,
                                                                    weight, thread);
    if constexpr (!SHORT_ROWS) {
        constexpr unsigned WARPS = ROW_THREADS / 32;
        __shared__ float of_warps[WARPS];
        if (thread % 32 == 0)
            of_warps[thread / 32] = squares;
        __syncthreads();
        squares = sum_stored<WARPS>(of_warps);
    }
    if (row < rows)
        norm.store(y + (size_t)row * COLS, thread, squares, eps);
}
