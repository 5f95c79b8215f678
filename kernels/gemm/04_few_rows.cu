// Idea    Up to 16 rows of a: nothing is shared between multiplications but a itself. So each thread fetches what it
//         multiplies, no thread waits for another, and the sum is what warps divide.
// Change  From 02: a block has 32 columns of y, each of its 16 warps every 16th step of 32 along the sum. A lane copies
//         16 bytes of each of its rows, 8 elements, to a ring of its own; there is no barrier before the end. 8 neighbouring
//         elements lie in two fragments of mma.sync: in which order the sum runs does not matter, as long as a and b have
//         the same. Sums of warps are added at the end, in a fixed order.
// Buys    8.1 us for m = 16, n = k = 4096 on an H200 (02: 18.5, cuBLAS: 9.6), 6.7 for m = 8 (9.2), 6.2 for 1 (9.7),
//         in one pass. Predicted were 8 for m = 16: 34 MB of b and 128 times the 131 KB of a, 50 MB, at 9.8 TB/s from
//         the L2 5.1; a launch 1.3; latency and the sum of warps 1.5. A multiprocessor has 144 KB in flight, where 74
//         bytes per ns and 700 ns need 52. Rung 02 has 64 barriers.
// Limits  The L2, or the DRAM where b is not in it. Every block reads all of a: from 32 rows on as much as b.
#if __CUDA_ARCH__ < 800
#error SKIP: needs asynchronous copies (sm_80)
#elif WORKLOAD_BF16
#error SKIP: products of fp16 only
#elif M > 16
#error SKIP: more than 16 rows: blocks of the other rungs share what they load
#elif K % 8 != 0 || N % 8 != 0
#error SKIP: needs k and n that are multiples of 8 (16-byte loads)
#endif
#include "common/workload.cuh"
#include "common/tensor_cores.cuh"

constexpr unsigned WARPS = 16, THREADS = 32 * WARPS, ROWS = 16, COLUMNS = 32, TILES = COLUMNS / 8;
constexpr unsigned STEP = 32, STEPS = (K + STEP - 1) / STEP, CHUNK = 8;
constexpr unsigned CHUNKS = 2 + TILES;  // of a lane in a step: of two rows of a, then of a row in each tile of b
constexpr unsigned SLOT_BYTES = CHUNKS * THREADS * 16, ROOM = (SHARED_LIMIT - 1024) / SLOT_BYTES;
constexpr unsigned SLOTS = ROOM < 4 ? ROOM : 4, PITCH = COLUMNS + 8;  // floats: a fragment's rows in different banks
static_assert(SLOTS >= 1 && SLOT_BYTES >= WARPS * ROWS * PITCH * sizeof(float), "room for the sums of warps");
LAUNCHES = {{"gemm", {(N + COLUMNS - 1) / COLUMNS}, {THREADS}, {SLOTS * SLOT_BYTES}}};

// Requests this lane's chunks of a step, if there is one, and ends a group of copies.
__device__ __forceinline__ void copy_step(const T *a, const T *b, unsigned step, unsigned slot) {
    const unsigned row = threadIdx.x % 32 / 4, column = blockIdx.x * COLUMNS + row;
    const unsigned k = step * STEP + threadIdx.x % 4 * CHUNK;
    const auto copy = [&](unsigned chunk, const T *matrix, unsigned index, bool valid) {
        valid = valid && k < K;
        copy_16_async(slot + (chunk * THREADS + threadIdx.x) * 16, matrix + (valid ? (size_t)index * K + k : 0), valid);
    };
    if (step < STEPS) {
#pragma unroll
        for (unsigned i = 0; i < 2; i++)
            copy(i, a, row + i * 8, row + i * 8 < M);
#pragma unroll
        for (unsigned j = 0; j < TILES; j++)
            copy(2 + j, b, column + j * 8, column + j * 8 < N);
    }
    end_copy_group();
}

__device__ __forceinline__ void multiply(const unsigned char *slot, float (&sums)[TILES][4]) {
    const uint4 *own = reinterpret_cast<const uint4 *>(slot) + threadIdx.x;
    const uint4 upper = own[0], lower = own[THREADS];  // of rows g and g + 8
    const unsigned first[4] = {upper.x, lower.x, upper.y, lower.y}, second[4] = {upper.z, lower.z, upper.w, lower.w};
#pragma unroll
    for (unsigned j = 0; j < TILES; j++) {
        const uint4 b = own[(2 + j) * THREADS];
        multiply_add(sums[j], first, {b.x, b.y});
        multiply_add(sums[j], second, {b.z, b.w});
    }
}

BOUNDED_KERNEL(gemm, THREADS) {
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, slots = shared_address(dynamic_shared);
    float sums[TILES][4] = {};
#pragma unroll
    for (unsigned i = 0; i < SLOTS; i++)
        copy_step(a, b, warp + i * WARPS, slots + i * SLOT_BYTES);
#pragma unroll 1
    for (unsigned i = 0; warp + i * WARPS < STEPS; i++) {
        wait_for_copies<SLOTS - 1>();
        multiply(dynamic_shared + i % SLOTS * SLOT_BYTES, sums);
        copy_step(a, b, warp + (i + SLOTS) * WARPS, slots + i % SLOTS * SLOT_BYTES);
    }
    wait_for_copies<0>();
    __syncthreads();  // all have finished with the ring
    float *of_warps = reinterpret_cast<float *>(dynamic_shared);
#pragma unroll
    for (unsigned j = 0; j < TILES; j++)
#pragma unroll
        for (unsigned h = 0; h < 2; h++)
            *reinterpret_cast<float2 *>(of_warps + (warp * ROWS + lane / 4 + h * 8) * PITCH + j * 8 + lane % 4 * 2) =
                make_float2(sums[j][2 * h], sums[j][2 * h + 1]);
    __syncthreads();
    static_assert(THREADS == ROWS * COLUMNS, "one element of y per thread");
    const unsigned row = threadIdx.x / COLUMNS, column = threadIdx.x % COLUMNS, n = blockIdx.x * COLUMNS + column;
    float sum = 0;
#pragma unroll
    for (unsigned w = 0; w < WARPS; w++)
        sum += of_warps[(w * ROWS + row) * PITCH + column];
    if (row < M && n < N)
        y[(size_t)row * N + n] = __float2half_rn(sum);
}
