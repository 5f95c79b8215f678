// Tiles of a, b and y, for blocks of WARPS_M * WARPS_N warps that compute a tile (TILE_M, TILE_N) of y together. The
// rung defines these four. A step is TILE_K along the sum.
//
// In shared memory a row of a step is 128 bytes, eight chunks of 16, and chunk c of row r lies at place c ^ r % 8:
// eight rows of one chunk, which ldmatrix reads together, and eight chunks of one row are in different banks.
#pragma once
#include "common/workload.cuh"
#include "common/tensor_cores.cuh"
#if WORKLOAD_BF16
#error SKIP: products of fp16 only
#elif K % 8 != 0 || N % 8 != 0
#error SKIP: needs k and n that are multiples of 8 (16-byte loads and stores)
#endif

constexpr unsigned TILE_K = 64, ROW_BYTES = 128, CHUNK = 8, CHUNKS = TILE_K / CHUNK;
constexpr unsigned WARPS = WARPS_M * WARPS_N, THREADS = WARPS * 32;
constexpr unsigned WARP_M = TILE_M / WARPS_M, WARP_N = TILE_N / WARPS_N;  // of y, per warp
constexpr unsigned TILES_M = (M + TILE_M - 1) / TILE_M, TILES_N = (N + TILE_N - 1) / TILE_N;
constexpr unsigned STEPS = (K + TILE_K - 1) / TILE_K;
constexpr unsigned STAGE_BYTES = (TILE_M + TILE_N) * ROW_BYTES;  // a's rows, then b's
constexpr unsigned Y_PITCH = TILE_N + 8, Y_BYTES = TILE_M * Y_PITCH * sizeof(half);

__device__ __forceinline__ unsigned swizzled(unsigned row, unsigned chunk) {
    return row * ROW_BYTES + (chunk ^ row % 8) * 16;
}

// The first row and column of a block's tile. Blocks that run at the same time share rows of a and b in the L2: they
// take eight tiles downwards, then the next column.
struct place_t {
    unsigned m, n;

    __device__ __forceinline__ place_t() {
        constexpr unsigned DOWN = 8;
        const unsigned group = blockIdx.x / (DOWN * TILES_N), in_group = blockIdx.x % (DOWN * TILES_N);
        const unsigned down = min(TILES_M - group * DOWN, DOWN);
        m = (group * DOWN + in_group % down) * TILE_M;
        n = in_group / down * TILE_N;
    }
};

// Calls use(place in the stage, pointer, valid) for each 16-byte chunk of this thread in a step.
template <class Use>
__device__ __forceinline__ void for_chunks(const T *a, const T *b, const place_t &place, unsigned step, Use use) {
#pragma unroll
    for (unsigned i = 0; i < (TILE_M + TILE_N) * CHUNKS / THREADS; i++) {
        const unsigned row = (threadIdx.x + i * THREADS) / CHUNKS, chunk = threadIdx.x % CHUNKS;
        const unsigned k = step * TILE_K + chunk * CHUNK;
        const bool of_a = row < TILE_M;
        const size_t at = of_a ? place.m + row : place.n + row - TILE_M;
        const bool valid = k < K && at < (of_a ? M : N);
        use(i, swizzled(row, chunk), valid ? (of_a ? a : b) + at * K + k : a, valid);
    }
}

// A warp's part of y.
struct sums_t {
    float of[WARP_M / 16][WARP_N / 8][4];
};

// Operands of 16 along the sum. One ldmatrix loads 16 rows by 16: of a as words 0 … 3 of its fragment, of b as those
// of two neighbouring fragments of 8 rows.
struct operands_t {
    unsigned a[WARP_M / 16][4], b[WARP_N / 16][4];

    __device__ __forceinline__ void load(unsigned stage, unsigned warp_m, unsigned warp_n, unsigned sixteenth) {
        const unsigned lane = threadIdx.x % 32;
#pragma unroll
        for (unsigned i = 0; i < WARP_M / 16; i++)
            load_matrices<false>(a[i], stage + swizzled(warp_m + i * 16 + lane % 16, sixteenth * 2 + lane / 16));
#pragma unroll
        for (unsigned j = 0; j < WARP_N / 16; j++)
            load_matrices<false>(b[j], stage + swizzled(TILE_M + warp_n + j * 16 + lane % 8 + lane / 16 * 8,
                                                        sixteenth * 2 + lane / 8 % 2));
    }
};

// Adds the products of one step, whose rows are in shared memory at `stage`.
__device__ __forceinline__ void multiply(sums_t &sums, unsigned stage) {
    const unsigned warp = threadIdx.x / 32, warp_m = warp / WARPS_N * WARP_M, warp_n = warp % WARPS_N * WARP_N;
    operands_t operands[2];
    operands[0].load(stage, warp_m, warp_n, 0);
#pragma unroll
    for (unsigned s = 0; s < TILE_K / 16; s++) {
        const operands_t &now = operands[s % 2];
        if (s + 1 < TILE_K / 16)
            operands[(s + 1) % 2].load(stage, warp_m, warp_n, s + 1);
#pragma unroll
        for (unsigned i = 0; i < WARP_M / 16; i++)
#pragma unroll
            for (unsigned j = 0; j < WARP_N / 8; j++) {
                const unsigned b[2] = {now.b[j / 2][j % 2 * 2], now.b[j / 2][j % 2 * 2 + 1]};
                multiply_add(sums.of[i][j], now.a[i], b);
            }
    }
}

// Writes the tile through shared memory, so that stores are whole 16-byte chunks of neighbouring columns. `shared` has
// Y_BYTES; the block must have finished with it.
__device__ __forceinline__ void store_tile(const sums_t &sums, T *y, const place_t &place, unsigned char *shared) {
    T *tile = reinterpret_cast<T *>(shared);
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned row = warp / WARPS_N * WARP_M + lane / 4, column = warp % WARPS_N * WARP_N + lane % 4 * 2;
#pragma unroll
    for (unsigned i = 0; i < WARP_M / 16; i++)
#pragma unroll
        for (unsigned j = 0; j < WARP_N / 8; j++)
#pragma unroll
            for (unsigned h = 0; h < 2; h++)
                *reinterpret_cast<half2 *>(tile + (row + i * 16 + h * 8) * Y_PITCH + column + j * 8) =
                    __floats2half2_rn(sums.of[i][j][2 * h], sums.of[i][j][2 * h + 1]);
    __syncthreads();
    constexpr unsigned ACROSS = TILE_N / CHUNK;
#pragma unroll
    for (unsigned i = threadIdx.x; i < TILE_M * ACROSS; i += THREADS) {
        const size_t m = place.m + i / ACROSS, n = place.n + i % ACROSS * CHUNK;
        if (m < M && n < N)
            *reinterpret_cast<uint4 *>(y + m * N + n) =
                *reinterpret_cast<const uint4 *>(tile + i / ACROSS * Y_PITCH + i % ACROSS * CHUNK);
    }
}
