// Idea    Read x once: a row stays in registers between its maximum, its sum and its quotients.
// Change  COLS is a constant, so loops over a row are unrolled and its elements are registers. Up to 1024 columns: 1 to
//         32 lanes per row, several rows per warp, no barrier. Longer rows: a block of up to 1024 threads, 16 or 32
//         elements each, with one barrier: each warp takes exponentials relative to its own largest element, and
//         corrects them by one factor when it knows all pairs.
// Buys    2 * rows * cols elements of traffic, the minimum. All loads of a row are in flight at once: 16 elements of 4
//         bytes in each of 2048 threads are 128 KB per multiprocessor, where 4.3 TB/s at 800 ns need 26 KB.
// Limits  DRAM. A row of 32,768 columns fills the registers of a multiprocessor: its loads, sums and stores do not
//         overlap with those of another row. With fewer rows than multiprocessors most of them have no work: rung 04.
#if COLS > 32768
#error SKIP: a block holds at most 32768 columns in registers
#endif
#include "in_registers.cuh"

LAUNCHES = {{"softmax_rows", {{"ceil_div(rows, ", ROWS_PER_BLOCK, ")"}}, {ROW_THREADS}}};

BOUNDED_KERNEL(softmax_rows, ROW_THREADS) {
    const unsigned thread = threadIdx.x % ROW_GROUP;
    const long long row = (long long)blockIdx.x * ROWS_PER_BLOCK + threadIdx.x / ROW_GROUP;
    row_t<ROW_GROUP> elements;
    exponentials_t<ROW_GROUP> exponentials;
    // All lanes take part in shuffles, those of rows past the last, too.
    elements.load(x + (size_t)(row < rows ? row : rows - 1) * COLS, thread);
    const online_t own = exponentials.template set<SHORT_ROWS ? ROW_GROUP : 32>(elements, thread);
    float scale = 1 / own.sum;
    if constexpr (!SHORT_ROWS) {
        constexpr unsigned WARPS = ROW_THREADS / 32;
        __shared__ float largest[WARPS], sum[WARPS];
        if (thread % 32 == 0) {
            largest[thread / 32] = own.largest;
            sum[thread / 32] = own.sum;
        }
        __syncthreads();
        const online_t all = join_stored<WARPS>(largest, sum);
        scale = __expf(own.largest - all.largest) / all.sum;
    }
    if (row < rows)
        exponentials.store(y + (size_t)row * COLS, thread, scale);
}
