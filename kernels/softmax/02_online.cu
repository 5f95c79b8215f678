// Idea    Maximum and sum in one pass over the row: when a larger element comes, the sum so far is scaled to it.
// Change  Each thread keeps a pair (largest, sum of exponentials relative to it); pairs of lanes and warps are joined.
//         Loads of up to 16 bytes.
// Buys    x is read twice instead of three times, and the block meets once instead of twice. A row that is still in the
//         L1 or L2 costs less the second time.
// Limits  A dependent exponential per element; the second read. Rows whose length is odd (f16) or not a multiple of
//         four elements (f32) are loaded in smaller pieces.
#include "common/rows.cuh"
#include "online.cuh"

constexpr unsigned THREADS = 256, WARPS = THREADS / 32;
LAUNCHES = {{"softmax_rows", {"rows"}, {THREADS}}};

BOUNDED_KERNEL(softmax_rows, THREADS) {
    __shared__ float largest[WARPS], sum[WARPS];
    const T *from = x + (size_t)blockIdx.x * COLS;
    T *to = y + (size_t)blockIdx.x * COLS;
    online_t own = {LOWEST, 0};
    for (unsigned n = threadIdx.x; n < VECTORS; n += THREADS) {
        const vector_t<VECTOR> v = load_vector<VECTOR>(from, n);
        online_t of_vector = {LOWEST, 0};
#pragma unroll
        for (unsigned i = 0; i < VECTOR; i++)
            of_vector.largest = fmaxf(of_vector.largest, v[i]);
#pragma unroll
        for (unsigned i = 0; i < VECTOR; i++)
            of_vector.sum += __expf(v[i] - of_vector.largest);
        own = join(own, of_vector);
    }
    own = join_lanes<32>(own);
    if (threadIdx.x % 32 == 0) {
        largest[threadIdx.x / 32] = own.largest;
        sum[threadIdx.x / 32] = own.sum;
    }
    __syncthreads();
    const online_t all = join_stored<WARPS>(largest, sum);
    const float scale = 1 / all.sum;
    for (unsigned n = threadIdx.x; n < VECTORS; n += THREADS) {
        vector_t<VECTOR> v = load_vector<VECTOR>(from, n);
#pragma unroll
        for (unsigned i = 0; i < VECTOR; i++)
            v.set(i, __expf(v[i] - all.largest) * scale);
        store_vector(to, n, v);
    }
}
