// Idea    Memory never idles: a block with a row in its registers is loading the next one.
// Change  From 02: as many blocks as multiprocessors, which take rows in turns. The next row is requested before the
//         block waits for the sum of this one. The weights are loaded once. One barrier per row: the sums of warps have
//         two places, used alternately.
// Buys    35.9 us for 2048 rows of 16,384 columns in bf16 on an H200 (predicted 36; 02: 46.3, PyTorch 35.5, limit
//         31.9), 29.3 for 12,288 columns (02: 42.6, PyTorch 27.4), in one pass. A row of 32 KB is in flight in
//         each multiprocessor at any time, where reading at 2.2 TB/s with 800 ns needs 13 KB.
// Limits  DRAM. With 1024 threads 64 registers each: two rows and the weights, up to 16 packed elements of each.
#if COLS <= 8192
#error SKIP: several blocks of 02_registers fit on a multiprocessor with rows this short
#elif COLS > 16384 || DTYPE_F32 || COLS % 2 != 0
#error SKIP: a block holds two rows and the weights in registers, at most 16384 packed columns of each
#endif
#include "in_registers.cuh"

constexpr unsigned WARPS = ROW_THREADS / 32;
LAUNCHES = {{"rms_norm_rows", {{"min(rows, sm_count)"}}, {ROW_THREADS}}};

BOUNDED_KERNEL(rms_norm_rows, ROW_THREADS) {
    __shared__ float of_warps[2][WARPS];
    norm_t<ROW_THREADS> norm;
    norm.weights.load(weight, threadIdx.x);
    row_t<ROW_THREADS> next;
    next.load(x + (size_t)blockIdx.x * COLS, threadIdx.x);
    unsigned turn = 0;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x, turn ^= 1) {
        norm.elements = next;
        const float squares = norm.template sum_of_squares<32>(threadIdx.x);
        if (threadIdx.x % 32 == 0)
            of_warps[turn][threadIdx.x / 32] = squares;
        if (row + gridDim.x < rows)
            next.load(x + (size_t)(row + gridDim.x) * COLS, threadIdx.x);
        __syncthreads();
        norm.store(y + (size_t)row * COLS, threadIdx.x, sum_stored<WARPS>(of_warps[turn]), eps);
    }
}
