// One row per cluster: each of its blocks holds a part, and sends what it found in it to the others (sm_90).
#pragma once
#include "ptx.cuh"
#include "rows.cuh"

// At least 1024 columns per block, at most 32 elements per thread: up to 131,072 columns.
constexpr unsigned CLUSTER = COLS >= 8192 ? 8 : COLS >= 4096 ? 4 : 2;
constexpr unsigned CLUSTER_THREADS = COLS > 65536 ? 512 : 256, CLUSTER_GROUP = CLUSTER * CLUSTER_THREADS;
constexpr unsigned CLUSTER_WARPS = CLUSTER_GROUP / 32;

// Writes a warp's number into of_warps[] of each block of the cluster; visible after a cluster_barrier().
__device__ __forceinline__ void send_to_cluster(float *of_warps, float value) {
    const unsigned lane = threadIdx.x % 32, warp = (block_in_cluster() * CLUSTER_THREADS + threadIdx.x) / 32;
    if (lane < CLUSTER)
        store_in(address_in(lane, shared_address(of_warps + warp)), value);
}
