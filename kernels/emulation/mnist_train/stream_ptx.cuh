// kernels/mnist_train/stream_ptx.cuh on the host. Copies take effect when their barrier is told of them.
#pragma once

inline void barrier_arrive_copied(unsigned barrier) {
    end_copy_group();
    wait_for_copies<0>();
    barrier_arrive(barrier);
}

// Of each thread of the block: how often it has waited.
static thread_local std::vector<unsigned> cluster_waits;

inline void cluster_arrive() {
    if (CLUSTER > 1)
        cluster->arrived++;
}
inline void cluster_wait() {
    if (CLUSTER == 1)
        return __syncthreads();
    cluster_waits.resize(blockDim.x);
    const unsigned until = ++cluster_waits[threadIdx.x] * cluster->threads;
    while (cluster->arrived < until)
        let_others_run();
}

inline unsigned long long keep_policy() {
    return 0;
}
template <bool KEPT> void copy_16(unsigned to, const void *from, bool valid, unsigned long long = 0) {
    copy_16_async(to, from, valid);
}
template <bool KEPT> void store_16(void *to, const uint4 &v, unsigned long long = 0) {
    if ((uintptr_t)to % 16 != 0)
        abort();
    *(uint4 *)to = v;
}
inline uint4 load_shared(unsigned address) {
    if (address % 16 != 0)
        abort();
    return *(const uint4 *)from_shared(address);
}
inline void store_sums(unsigned address, unsigned block, float4 v) {
    if (CLUSTER > 1)
        memcpy(from_remote(address_in(block, address)), &v, sizeof v);
    else
        memcpy(from_shared(address), &v, sizeof v);
}
