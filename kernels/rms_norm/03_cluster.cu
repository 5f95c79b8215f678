// Idea    Few rows of many columns: one row per cluster of blocks, so that more multiprocessors have work.
// Change  Two to eight blocks per row (sm_90), each with a part of it and of the weights in registers. Each warp writes
//         its sum of squares into the shared memory of all blocks of the cluster; once all bytes are there each block adds
//         them in the same order.
// Buys    16 rows of 16,384 columns in bf16: 128 blocks of 4 KB instead of 16 of 32 KB.
// Limits  The cluster's barrier and the remote stores, some 0.5 us per row, and the launch.
#if __CUDA_ARCH__ < 900
#error SKIP: needs clusters of blocks (sm_90)
#elif COLS < 2048
#error SKIP: rows of fewer than 2048 columns need no cluster
#elif COLS > 131072
#error SKIP: a cluster of 8 blocks holds at most 131072 columns in registers
#endif
#include "common/clusters.cuh"
#include "in_registers.cuh"

LAUNCHES = {{"rms_norm_rows", {{"rows * ", CLUSTER}}, {CLUSTER_THREADS}, {}, {CLUSTER}}};

BOUNDED_KERNEL(rms_norm_rows, CLUSTER_THREADS) {
    __shared__ float of_warps[CLUSTER_WARPS];
    __shared__ unsigned long long all_sent;
    const unsigned barrier = shared_address(&all_sent);
    if (threadIdx.x == 0)
        expect_from_cluster(barrier, sizeof of_warps);
    cluster_arrive_started();
    const size_t row = blockIdx.x / CLUSTER;
    const unsigned thread = block_in_cluster() * CLUSTER_THREADS + threadIdx.x;
    norm_t<CLUSTER_GROUP> norm;
    const float squares = norm.template load<32>(x + row * COLS, weight, thread);
    cluster_wait_started();
    send_to_cluster(of_warps, squares, barrier);
    barrier_wait(barrier, 0);
    norm.store(y + row * COLS, thread, sum_stored<CLUSTER_WARPS>(of_warps), eps);
}
