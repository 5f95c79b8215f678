// Idea    A block loads a tile by TMA, turns it in shared memory, and stores it by TMA.
// Change  None: the start of the ladder.
// Buys    One thread copies, whole lines of both arrays move, and the edges need no tests: what is outside is not stored.
// Limits  Rows of both arrays are a multiple of 16 bytes. Swizzled, four threads still read from one bank at a time.
#if __CUDA_ARCH__ < 900
#error SKIP: needs TMA (sm_90)
#endif
#include "common/tma.cuh"

constexpr unsigned TILE = 128 / sizeof(T); // a row of a tile has the span of the swizzle

TENSOR_MAPS = {{"x", {"cols", "rows"}, {TILE, TILE}, SWIZZLE_128},
               {"y", {"rows", "cols"}, {TILE, TILE}, SWIZZLE_128}};
LAUNCHES = {{"transpose", {{"ceil_div(cols, ", TILE, ")"}, {"ceil_div(rows, ", TILE, ")"}}, {32, 8}}};

__device__ T &element(T *tile, unsigned row, unsigned column) {
    return *(T *)((char *)tile + (row * 128 + (column * sizeof(T) ^ row % 8 * 16)));
}

TMA_KERNEL(transpose, (256), MAP(from), MAP(to)) {
    __shared__ __align__(1024) T in[TILE * TILE], out[TILE * TILE];
    __shared__ unsigned long long loaded;
    const unsigned barrier = shared_address(&loaded);
    const int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    const bool copies = threadIdx.x + threadIdx.y == 0;
    if (copies) {
        barrier_init(barrier);
        show_to_tma();
        barrier_expect(barrier, sizeof in);
        load_tile(shared_address(in), from, barrier, column, row);
    }
    __syncthreads();
    barrier_wait(barrier, 0);
    for (unsigned r = threadIdx.y; r < TILE; r += 8)
        for (unsigned c = threadIdx.x; c < TILE; c += 32)
            element(out, r, c) = element(in, c, r);
    show_to_tma();
    __syncthreads();
    if (copies) {
        store_tile(to, shared_address(out), row, column);
        end_store_group();
        wait_for_stores<0>();
    }
}
