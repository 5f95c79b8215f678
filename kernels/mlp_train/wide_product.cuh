// Forward and input gradient: few rows (the batch) times a matrix of weights. A cluster of SPLIT blocks computes a tile
// of TILE_ROWS x TILE_COLUMNS, each block a part of the sum, each of its GROUPS groups of threads a part of that. A
// thread keeps ROWS_EACH x COLUMNS_EACH sums in registers. Partial sums are added in a fixed order: the block's, then
// the cluster's, of which each block reduces its part of the tile.
#pragma once
#include "tiles.cuh"

constexpr bool TENSOR_CORES = DTYPE_TF32;
constexpr unsigned FEWEST_ROWS = TENSOR_CORES ? 2 : 1;
constexpr unsigned ROW_THREADS = 8, ROWS_EACH = BATCH > 32 ? 8 : BATCH > 16 ? 4 : BATCH > 8 ? 2 : FEWEST_ROWS;
constexpr unsigned TILE_ROWS = ROW_THREADS * ROWS_EACH;
constexpr bool LARGE_SHARED = __CUDA_ARCH__ == 800 || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200);
// A larger tile re-reads less of the previous kernel's output, if a cluster of 8 shares its sum.
constexpr unsigned COLUMN_THREADS = WIDTH >= (HAS_CLUSTERS ? 512 : 1024) && HAS_ASYNC_COPIES ? 8 : 4;
// Tensor cores: the two warps of a group split the rows, or the columns.
constexpr bool HALF_ROWS = COLUMN_THREADS == 8 && TILE_ROWS >= 32;
// 784 = 28 * 28.
constexpr unsigned COLUMNS_EACH = WIDTH % 28 == 0 && WIDTH < 1024 && (!TENSOR_CORES || HALF_ROWS) ? 7 : 8;
constexpr unsigned TILE_COLUMNS = COLUMN_THREADS * COLUMNS_EACH;
constexpr unsigned GROUP = ROW_THREADS * COLUMN_THREADS, GROUPS = 4, WIDE_THREADS = GROUPS * GROUP;

// At most as many blocks as an H200 has multiprocessors. 8 is the largest portable cluster size.
constexpr unsigned MULTIPROCESSORS = 132, MOST_SPLIT = 8;
constexpr unsigned TILES_OF_BATCH = ((WIDTH + TILE_COLUMNS - 1) / TILE_COLUMNS) * ((BATCH + TILE_ROWS - 1) / TILE_ROWS);
__host__ __device__ constexpr unsigned split_of(unsigned split) {
    return split > 1 && TILES_OF_BATCH * split > MULTIPROCESSORS ? split_of(split / 2) : split;
}
constexpr unsigned SPLIT = HAS_CLUSTERS ? split_of(MOST_SPLIT) : 1;

// UNIT: the terms that a thread or a tensor core adds at once.
constexpr unsigned UNIT = TENSOR_CORES ? 8 : 4, CHUNK = LARGE_SHARED ? 104 : 40, UNITS = CHUNK / UNIT;
constexpr unsigned LONGEST = WIDTH > PIXELS ? WIDTH : PIXELS;
// Width 784: all inputs of a block fit one chunk, and its sums have a separate buffer.
constexpr bool ONE_CHUNK = (LONGEST + UNIT * SPLIT - 1) / (UNIT * SPLIT) <= UNITS;
constexpr unsigned STAGES_OF_RING = ONE_CHUNK ? 1 : 2;
constexpr unsigned A_ROW = CHUNK + 4;  // rows start in different banks
constexpr unsigned ACROSS_ROW = TILE_COLUMNS + (TENSOR_CORES && TILE_COLUMNS % 16 == 0 ? 8 : 0);
constexpr unsigned A_FLOATS = TILE_ROWS * A_ROW, B_FLOATS_ALONG = TILE_COLUMNS * A_ROW;
constexpr unsigned B_FLOATS_ACROSS = CHUNK * ACROSS_ROW;
constexpr unsigned B_FLOATS = B_FLOATS_ALONG > B_FLOATS_ACROSS ? B_FLOATS_ALONG : B_FLOATS_ACROSS;  // one ring for both
constexpr unsigned SLOT = A_FLOATS + B_FLOATS, RING_FLOATS = STAGES_OF_RING * SLOT;

constexpr unsigned TILE_FLOATS = TILE_ROWS * TILE_COLUMNS, TILE_FOURS = TILE_FLOATS / 4,
                   PART_FOURS = TILE_FOURS / SPLIT;
constexpr unsigned SUMS_ROW = TENSOR_CORES ? ACROSS_ROW : TILE_COLUMNS + (TILE_COLUMNS % 8 == 0 ? 4 : 0);
constexpr unsigned SUMS_FLOATS = TILE_ROWS * SUMS_ROW, ALL_SUMS = GROUPS * SUMS_FLOATS;
constexpr unsigned SUMS_AT = ONE_CHUNK ? RING_FLOATS : 0;
constexpr unsigned RECEIVED_AT = SUMS_AT + ALL_SUMS > RING_FLOATS ? SUMS_AT + ALL_SUMS : RING_FLOATS;
constexpr unsigned RECEIVED_FLOATS = SPLIT > 1 ? TILE_FLOATS : 0;  // for this block's part of the tile
constexpr unsigned WIDE_SHARED = sizeof(float) * (RECEIVED_AT + RECEIVED_FLOATS);
static_assert(TILE_FLOATS % (4 * SPLIT) == 0, "blocks of a cluster share the tile's fours");

#define WIDE_KERNEL(name) BOUNDED_OPERATOR(name, (WIDE_THREADS, 1))
// The grid is that of a full batch; a cluster without rows ends.
#define WIDE_KERNEL_OF(name, bounds, op)                                                                               \
    extern "C" __global__ void __launch_bounds__ bounds name(KERNEL_ARGUMENTS, int index) {                            \
        const op_t p = op;                                                                                             \
        if (blockIdx.x / SPLIT / tiles(WIDTH, TILE_COLUMNS) * TILE_ROWS < p.rows)                                      \
            name##_of(p);                                                                                              \
    }
#define WIDE_LAUNCH(name, how) \
    launch_of(name, WIDE_THREADS, TILES_OF_BATCH * SPLIT, how, WIDE_SHARED, SPLIT)

typedef float sums_t[ROWS_EACH][COLUMNS_EACH];

// A block's factors A (rows, n) and B; it sums over begin … end - 1 of n.
struct wide_t {
    part_t a, b;
    unsigned n, begin, end;

    __device__ __forceinline__ unsigned first(unsigned chunk) const { return begin + chunk * CHUNK; }
    __device__ __forceinline__ unsigned past(unsigned chunk) const { return min(end, first(chunk) + CHUNK); }
};

// From sm_90 on, if rows are whole vectors and sums whole units, a thread copies a row of a chunk, and a barrier counts
// the bytes. Missing rows are not copied; their results are not used. Otherwise all threads copy the chunk by vectors,
// padded with zeros.
constexpr bool BULK = HAS_CLUSTERS && WIDTH % 8 == 0;
struct ring_t {
    float *floats;
#if __CUDA_ARCH__ >= 900
    mbarrier_t *full;
#endif
};

template <unsigned ROWS, unsigned COLUMNS, unsigned PITCH>
__device__ __forceinline__ void copy_rows(const ring_t &ring, unsigned chunk, unsigned at, const part_t &part) {
    float *tile = ring.floats + chunk % STAGES_OF_RING * SLOT + at;
#if __CUDA_ARCH__ >= 900
    if constexpr (BULK) {
        static_assert(ROWS <= WIDE_THREADS, "one row per thread");
        // Neighbouring rows by different warps: a warp issues its copies one after the other.
        const unsigned r = threadIdx.x % 32 * (WIDE_THREADS / 32) + threadIdx.x / 32, row = part.row + r;
        if (r < ROWS && row < part.rows)
            copy_bulk(tile + r * PITCH,
                      part.matrix + (part.order != nullptr ? part.order[row] : row) * part.stride + part.column,
                      sizeof(float) * min(COLUMNS, part.columns - part.column), ring.full + chunk % STAGES_OF_RING);
        return;
    }
#endif
    copy_tile<ROWS, COLUMNS, PITCH, WIDE_THREADS, WORDS>(tile, part);
}

__device__ __forceinline__ void copy_a(const ring_t &ring, const wide_t &wide, unsigned chunk) {
    part_t part = wide.a;
    part.column = wide.first(chunk), part.columns = wide.past(chunk);
    copy_rows<TILE_ROWS, CHUNK, A_ROW>(ring, chunk, 0, part);
}

// ALONG: rows of B are the result's columns (forward); else the sum runs over rows of B.
template <bool ALONG> __device__ __forceinline__ void copy_b(const ring_t &ring, const wide_t &wide, unsigned chunk) {
    part_t part = wide.b;
    if constexpr (ALONG) {
        part.column = wide.first(chunk), part.columns = wide.past(chunk);
        copy_rows<TILE_COLUMNS, CHUNK, A_ROW>(ring, chunk, A_FLOATS, part);
    } else {
        part.row = wide.first(chunk), part.rows = wide.past(chunk);
        copy_rows<CHUNK, TILE_COLUMNS, ACROSS_ROW>(ring, chunk, A_FLOATS, part);
    }
}

// Announces the bytes of a chunk to its barrier.
template <bool ALONG> __device__ __forceinline__ void expect(const ring_t &ring, const wide_t &wide, unsigned chunk) {
#if __CUDA_ARCH__ >= 900
    const unsigned length = wide.past(chunk) - wide.first(chunk), rows = min(TILE_ROWS, wide.a.rows - wide.a.row);
    const unsigned columns = min(TILE_COLUMNS, ALONG ? wide.b.rows - wide.b.row : wide.b.columns - wide.b.column);
    if (BULK && threadIdx.x == 0)
        mbarrier_expect(ring.full + chunk % STAGES_OF_RING, sizeof(float) * (rows + columns) * length);
#endif
}

__device__ __forceinline__ void wait_for_chunk(const ring_t &ring, unsigned chunk) {
#if __CUDA_ARCH__ >= 900
    if (BULK) {
        mbarrier_wait(ring.full + chunk % STAGES_OF_RING, chunk / STAGES_OF_RING % 2);
        return;
    }
#endif
    wait_for_copies<STAGES_OF_RING - 1>();
    __syncthreads();
}

#if DTYPE_TF32
#include "tf32_sums.cuh"
#else
// A warp has TILE_ROWS x 4 COLUMNS_EACH of the tile, 8 x 4 threads. Pairs of lanes read the same rows, other pairs the
// same columns, and any eight lanes two rows that start in different halves of the banks.
__device__ __forceinline__ unsigned row_of_lane() {
    return threadIdx.x % 32 / 8 + threadIdx.x / 2 % 2 * 4;
}
__device__ __forceinline__ unsigned column_of_lane() {
    return threadIdx.x % 2 + threadIdx.x / 4 % 2 * 2;
}

// Along B any order of columns is conflict-free. Across, columns are vectors of four, two and one.
template <bool ALONG> __device__ __forceinline__ unsigned column_of(unsigned j) {
    const unsigned first = threadIdx.x % GROUP / 32 * 4 * COLUMNS_EACH, lane = column_of_lane();
    if (ALONG)
        return first + lane + 4 * j;
    if (j < 4)
        return first + 4 * lane + j;
    return COLUMNS_EACH == 8 ? first + 16 + 4 * lane + j - 4
           : j < 6           ? first + 16 + 2 * lane + j - 4
                             : first + 24 + lane;
}

__device__ __forceinline__ void load_columns(const float *row, float (&b)[COLUMNS_EACH]) {
    const float4 v = as_float4(row + column_of<false>(0));
    b[0] = v.x, b[1] = v.y, b[2] = v.z, b[3] = v.w;
    if constexpr (COLUMNS_EACH == 8) {
        const float4 more = as_float4(row + column_of<false>(4));
        b[4] = more.x, b[5] = more.y, b[6] = more.z, b[7] = more.w;
    } else {
        const float2 more = *(const float2 *)(row + column_of<false>(4));
        b[4] = more.x, b[5] = more.y, b[6] = row[column_of<false>(6)];
    }
}

template <bool ALONG> __device__ __forceinline__ void add_four(const float *slot, unsigned four, sums_t &sums) {
    const float *b_tile = slot + A_FLOATS;
    float4 a[ROWS_EACH];
#pragma unroll
    for (unsigned i = 0; i < ROWS_EACH; i++)
        a[i] = as_float4(slot + (row_of_lane() + ROW_THREADS * i) * A_ROW + 4 * four);
    if constexpr (ALONG) {
#pragma unroll
        for (unsigned j = 0; j < COLUMNS_EACH; j++) {
            const float4 b = as_float4(b_tile + column_of<ALONG>(j) * A_ROW + 4 * four);
#pragma unroll
            for (unsigned k = 0; k < 4; k++)
#pragma unroll
                for (unsigned i = 0; i < ROWS_EACH; i++)
                    sums[i][j] = fmaf(component(a[i], k), component(b, k), sums[i][j]);
        }
    } else {
#pragma unroll
        for (unsigned k = 0; k < 4; k++) {
            float b[COLUMNS_EACH];
            load_columns(b_tile + (4 * four + k) * ACROSS_ROW, b);
#pragma unroll
            for (unsigned i = 0; i < ROWS_EACH; i++)
#pragma unroll
                for (unsigned j = 0; j < COLUMNS_EACH; j++)
                    sums[i][j] = fmaf(component(a[i], k), b[j], sums[i][j]);
        }
    }
}

template <bool ALONG>
__device__ __forceinline__ void add_units(const float *slot, unsigned from, unsigned to, sums_t &sums) {
#pragma unroll 2
    for (unsigned four = from; four < to; four++)
        add_four<ALONG>(slot, four, sums);
}

// Stores this thread's sums to their places in the tile.
template <bool ALONG> __device__ __forceinline__ void put_sums(float *tile, const sums_t &sums) {
#pragma unroll
    for (unsigned i = 0; i < ROWS_EACH; i++) {
        float *row = tile + (row_of_lane() + ROW_THREADS * i) * SUMS_ROW;
#pragma unroll
        for (unsigned j = 0; j < COLUMNS_EACH; j++)
            if (ALONG || (COLUMNS_EACH == 7 && j == 6))
                row[column_of<ALONG>(j)] = sums[i][j];
            else if (j % 4 == 0 && j + 4 <= COLUMNS_EACH)
                *(float4 *)(row + column_of<ALONG>(j)) =
                    make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
            else if (COLUMNS_EACH == 7 && j == 4)
                *(float2 *)(row + column_of<ALONG>(j)) = make_float2(sums[i][j], sums[i][j + 1]);
    }
}
#endif

// Sums over this group's part. In the first layer A are the images, which never change, but the weights may still be
// changing; in the others the weights do not change.
template <bool ALONG>
__device__ __forceinline__ void add_up(const ring_t &ring, const wide_t &wide, bool first_layer, sums_t &sums) {
    const unsigned chunks = (wide.end - wide.begin + CHUNK - 1) / CHUNK, group = threadIdx.x / GROUP;
#pragma unroll
    for (unsigned chunk = 0; chunk < STAGES_OF_RING; chunk++)
        if (chunk < chunks) {
            expect<ALONG>(ring, wide, chunk);
            first_layer ? copy_a(ring, wide, chunk) : copy_b<ALONG>(ring, wide, chunk);
        }
    wait_for_earlier_kernels();
#pragma unroll
    for (unsigned chunk = 0; chunk < STAGES_OF_RING; chunk++) {
        if (chunk < chunks)
            first_layer ? copy_b<ALONG>(ring, wide, chunk) : copy_a(ring, wide, chunk);
        end_copy_group();
    }
    for (unsigned chunk = 0; chunk < chunks; chunk++) {
        const unsigned units = (wide.past(chunk) - wide.first(chunk) + UNIT - 1) / UNIT;
        wait_for_chunk(ring, chunk);
        add_units<ALONG>(ring.floats + chunk % STAGES_OF_RING * SLOT, units * group / GROUPS,
                         units * (group + 1) / GROUPS, sums);
        if (ONE_CHUNK)
            break;
        __syncthreads();
        if (chunk + STAGES_OF_RING < chunks) {
            expect<ALONG>(ring, wide, chunk + STAGES_OF_RING);
            copy_a(ring, wide, chunk + STAGES_OF_RING);
            copy_b<ALONG>(ring, wide, chunk + STAGES_OF_RING);
        }
        end_copy_group();
    }
}

__device__ __forceinline__ unsigned row_of_four(unsigned four) {
    return four / (TILE_COLUMNS / 4);
}
__device__ __forceinline__ unsigned column_of_four(unsigned four) {
    return four % (TILE_COLUMNS / 4) * 4;
}

// Adds N vectors, `stride` floats apart.
template <unsigned N> __device__ __forceinline__ float4 add_vectors(const float *first, unsigned stride) {
    float4 sum = as_float4(first);
#pragma unroll
    for (unsigned i = 1; i < N; i++)
        sum = add(sum, as_float4(first + i * stride));
    return sum;
}

// Reduces the groups' sums: take(index of four neighbours, their sums).
template <class Take> __device__ __forceinline__ void add_groups(const float *memory, Take take) {
#pragma unroll
    for (unsigned first = 0; first < TILE_FOURS; first += WIDE_THREADS) {
        const unsigned four = first + threadIdx.x;
        if (four < TILE_FOURS)
            take(four, add_vectors<GROUPS>(memory + row_of_four(four) * SUMS_ROW + column_of_four(four), SUMS_FLOATS));
    }
}

// The product of A and B. Calls store(row, column, four results, extra) for this block's part of the tile; `extra` is
// load(row, column), loaded early.
template <bool ALONG, class Load, class Store>
__device__ __forceinline__ void multiply(wide_t &wide, bool first_layer, Load load, Store store) {
    constexpr unsigned EACH = (PART_FOURS + WIDE_THREADS - 1) / WIDE_THREADS;
    float *memory = (float *)shared_memory, *tiles = memory + SUMS_AT;
    const unsigned part = blockIdx.x % SPLIT, units = (wide.n + UNIT - 1) / UNIT;
    wide.begin = units * part / SPLIT * UNIT;
    wide.end = min(wide.n, units * (part + 1) / SPLIT * UNIT);
#if __CUDA_ARCH__ >= 900
    __shared__ mbarrier_t full[STAGES_OF_RING], all_received;
    const ring_t ring = {memory, full};
    float *received = memory + RECEIVED_AT;
    if (threadIdx.x == 0) {
        for (unsigned stage = 0; stage < STAGES_OF_RING; stage++)
            mbarrier_init(full + stage);
        mbarrier_init(&all_received);
        publish_barriers();
        mbarrier_expect(&all_received, RECEIVED_FLOATS * sizeof(float));
    }
    __syncthreads();
    if (SPLIT > 1)
        cluster_arrive();
#else
    const ring_t ring = {memory};
#endif
    sums_t sums = {};
    add_up<ALONG>(ring, wide, first_layer, sums);
    const unsigned first_own = part * PART_FOURS + threadIdx.x;
    float4 extra[SPLIT > 1 ? EACH : 1];
#pragma unroll
    for (unsigned i = 0; SPLIT > 1 && i < EACH; i++)
        extra[i] = load(row_of_four(first_own + i * WIDE_THREADS), column_of_four(first_own + i * WIDE_THREADS));
    put_sums<ALONG>(tiles + threadIdx.x / GROUP * SUMS_FLOATS, sums);
    __syncthreads();
#if __CUDA_ARCH__ >= 900
    if (SPLIT > 1) {
        cluster_wait();
        add_groups(tiles, [&](unsigned four, const float4 &sum) {
            store_to_block((float4 *)received + part * PART_FOURS + four % PART_FOURS, &all_received, four / PART_FOURS,
                           sum);
        });
        mbarrier_wait(&all_received, 0);
#pragma unroll
        for (unsigned i = 0; i < EACH; i++)
            if (i * WIDE_THREADS + threadIdx.x < PART_FOURS)
                store(row_of_four(first_own + i * WIDE_THREADS), column_of_four(first_own + i * WIDE_THREADS),
                      add_vectors<SPLIT>(received + 4 * (i * WIDE_THREADS + threadIdx.x), 4 * PART_FOURS), extra[i]);
        return;
    }
#endif
    add_groups(tiles, [&](unsigned four, const float4 &sum) {
        store(row_of_four(four), column_of_four(four), sum, load(row_of_four(four), column_of_four(four)));
    });
}

__device__ __forceinline__ tile_t begin_wide(wide_t &wide, unsigned n, unsigned columns) {
    wide.n = n;
    return tile_of(blockIdx.x / SPLIT, TILE_ROWS, TILE_COLUMNS, columns);
}
