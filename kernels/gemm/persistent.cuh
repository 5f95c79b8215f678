// One tile after another.
#pragma once
#include "tma_ring.cuh"

// The fewest blocks that have no more tiles each than with one block per multiprocessor.
#define PERSISTENT_LAUNCHES                                                                                            \
    LAUNCHES = {{"gemm",                                                                                               \
                 {{SHARERS, " * ceil_div(", TILES, ", ceil_div(", TILES, ", max(1, sm_count / ", SHARERS, ")))"}},      \
                 {THREADS},                                                                                            \
                 {SHARED},                                                                                             \
                 {SHARERS}}}

__device__ __forceinline__ void copy_tiles(ring_t &ring, const tensor_map_t &of_a, const tensor_map_t &of_b) {
    if (is_copier())
        for (unsigned tile = blockIdx.x / SHARERS; tile < TILES; tile += gridDim.x / SHARERS)
            copy_tile(ring, place_t(tile), 0, of_a, of_b);
}

__device__ __forceinline__ void compute_tiles(ring_t &ring, const tensor_map_t &of_y) {
    sums_t sums;
    for (unsigned tile = blockIdx.x / SHARERS; tile < TILES; tile += gridDim.x / SHARERS) {
        const place_t place(tile);
        multiply_tile(sums, ring);
        store_sums(sums, ring, place, of_y);
    }
    end_stores();
}
