// Idea    One thread per element.
// Change  None: the start of the ladder. The next rung is 02_NAME.cu, a copy of this file with one change.
// Buys    Nothing yet.
// Limits  Each thread moves only one element at a time.
//
// To change: the kernel, and its row of LAUNCHES: name, blocks, threads per block. Sizes are expressions over the
// params of workload.json. Every kernel has the same parameters, here `const T *x, T *y, unsigned char *workspace,
// long long rows`, then COLS, which is compiled in. T is the case's dtype; compute in float.
#include "common/workload.cuh"

LAUNCHES = {{"element_per_thread", {"ceil_div(rows * cols, 256)"}, {"256"}}};

KERNEL(element_per_thread) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (size_t)rows * COLS)
        return;
    const float value = (float)x[i];
    y[i] = (T)(value / (1 + __expf(-value)));
}
