// Idea    Few rows of many columns: one row per cluster of blocks instead of one per block, so that more
//         multiprocessors have work and none needs all its registers for one row.
// Change  Two to eight blocks per row (sm_90), each with a part of it in registers. Each warp writes its pair (largest,
//         sum) into the shared memory of all blocks of the cluster; once all bytes are there each block joins them.
// Buys    16 rows of 32,768 columns: 128 blocks of 16 KB instead of 16 of 128 KB. A multiprocessor reads about 64
//         bytes per clock from the L2, 115 GB/s at 1.8 GHz: 128 KB take 1.1 us, 16 KB 0.15. With many long rows, eight
//         blocks of different rows share a multiprocessor, and their loads and stores overlap.
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

LAUNCHES = {{"softmax_rows", {{"rows * ", CLUSTER}}, {CLUSTER_THREADS}, {}, {CLUSTER}}};

BOUNDED_KERNEL(softmax_rows, CLUSTER_THREADS) {
    __shared__ float largest[CLUSTER_WARPS], sum[CLUSTER_WARPS];
    __shared__ unsigned long long all_sent;
    const unsigned barrier = shared_address(&all_sent);
    if (threadIdx.x == 0)
        expect_from_cluster(barrier, sizeof largest + sizeof sum);
    cluster_arrive_started();
    const size_t row = blockIdx.x / CLUSTER;
    const unsigned thread = block_in_cluster() * CLUSTER_THREADS + threadIdx.x;
    row_t<CLUSTER_GROUP> elements;
    exponentials_t<CLUSTER_GROUP> exponentials;
    elements.load(x + row * COLS, thread);
    const online_t own = exponentials.template set<32>(elements, thread);
    cluster_wait_started();
    send_to_cluster(largest, own.largest, barrier);
    send_to_cluster(sum, own.sum, barrier);
    barrier_wait(barrier, 0);
    const online_t all = join_stored<CLUSTER_WARPS>(largest, sum);
    exponentials.store(y + row * COLS, thread, __expf(own.largest - all.largest) / all.sum);
}
