// One row per cluster: each of its blocks holds a part, and sends what it found in it to the others (sm_90).
#pragma once
#include "ptx.cuh"
#include "rows.cuh"

// At least 1024 columns per block, at most 32 elements per thread: up to 131,072 columns.
constexpr unsigned CLUSTER = COLS >= 8192 ? 8 : COLS >= 4096 ? 4 : 2;
constexpr unsigned CLUSTER_THREADS = COLS > 65536 ? 512 : 256, CLUSTER_GROUP = CLUSTER * CLUSTER_THREADS;
constexpr unsigned CLUSTER_WARPS = CLUSTER_GROUP / 32;

// Where a block of the cluster finds out that all `bytes` that others send to it are there. Made before
// cluster_arrive_started(), by one thread.
__device__ __forceinline__ void expect_from_cluster(unsigned barrier, unsigned bytes) {
    barrier_init(barrier);
    barrier_expect(barrier, bytes);
}

// Sends a warp's number to of_warps[] of each block of the cluster. No barrier of the whole cluster is needed then, which
// would be a fence of the whole GPU.
__device__ __forceinline__ void send_to_cluster(float *of_warps, float value, unsigned barrier) {
    const unsigned lane = threadIdx.x % 32, warp = (block_in_cluster() * CLUSTER_THREADS + threadIdx.x) / 32;
    if (lane < CLUSTER)
        send_to(address_in(lane, shared_address(of_warps + warp)), value, address_in(lane, barrier));
}
