// Rows of COLS elements in registers. A row belongs to a group of threads: lanes of a warp if it is short, a block, or
// a cluster of blocks. Thread t of the group's GROUP threads holds vectors t, t + GROUP, … of the row.
#pragma once
#include "vectors.cuh"
#include "warp.cuh"

// Elements of a vector: the widest that every row of a dense array is aligned to.
constexpr unsigned VECTOR = widest_load(COLS * sizeof(T)) / sizeof(T), VECTORS = COLS / VECTOR;

__host__ __device__ constexpr unsigned power_of_2_from(unsigned least) {
    unsigned power = 1;
    while (power < least)
        power *= 2;
    return power;
}

template <unsigned GROUP> struct row_t {
    static constexpr unsigned EACH = (VECTORS + GROUP - 1) / GROUP;
    vector_t<VECTOR> vectors[EACH];

    // Is vector k of this thread one of the row?
    __device__ __forceinline__ static bool has(unsigned thread, unsigned k) {
        return VECTORS % GROUP == 0 || thread + k * GROUP < VECTORS;
    }

    __device__ __forceinline__ void load(const T *row, unsigned thread) {
#pragma unroll
        for (unsigned k = 0; k < EACH; k++)
            if (has(thread, k))
                vectors[k] = load_vector<VECTOR>(row, thread + k * GROUP);
    }

    // Calls use(k, i, value) for each element of this thread: number i of vector k.
    template <class Use> __device__ __forceinline__ void for_each(unsigned thread, Use use) const {
#pragma unroll
        for (unsigned k = 0; k < EACH; k++)
            if (has(thread, k))
#pragma unroll
                for (unsigned i = 0; i < VECTOR; i++)
                    use(k, i, vectors[k][i]);
    }

    // Stores result(k, i) for each element.
    template <class Result> __device__ __forceinline__ static void store(T *row, unsigned thread, Result result) {
#pragma unroll
        for (unsigned k = 0; k < EACH; k++) {
            vector_t<VECTOR> vector;
#pragma unroll
            for (unsigned i = 0; i < VECTOR; i++)
                vector.set(i, result(k, i));
            if (has(thread, k))
                store_vector(row, thread + k * GROUP, vector);
        }
    }
};

// How rungs without clusters divide rows: up to 1024 columns by lanes, two vectors each, up to a warp; longer rows by
// blocks, 16 elements per thread.
constexpr bool SHORT_ROWS = COLS <= 1024;
constexpr unsigned LANES = power_of_2_from(VECTORS < 64 ? (VECTORS + 1) / 2 : 32);
constexpr unsigned LONG_THREADS = power_of_2_from((COLS + 15) / 16);
constexpr unsigned ROW_THREADS = SHORT_ROWS ? 128 : LONG_THREADS < 1024 ? LONG_THREADS : 1024;
constexpr unsigned ROW_GROUP = SHORT_ROWS ? LANES : ROW_THREADS, ROWS_PER_BLOCK = ROW_THREADS / ROW_GROUP;
