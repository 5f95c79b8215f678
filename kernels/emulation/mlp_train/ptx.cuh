// kernels/mlp_train/ptx.cuh on the host, as far as the rungs that keep their weights on the chip use it.
#pragma once
#include "../common/ptx.cuh"
#include "../common/relaxed.cuh"

constexpr bool HAS_ASYNC_COPIES = true, HAS_CLUSTERS = true;

// Four bytes are copied at once.
template <unsigned BYTES> void copy_async(float *to_shared, const float *from, bool valid) {
    if constexpr (BYTES == 16)
        copy_16_async(shared_address(to_shared), from, valid);
    else
        *to_shared = valid ? *from : 0;
}

// ---- between blocks ---------------------------------------------------------------------------

inline void prefetch(const float *from) {
    (void)*(const volatile float *)from;
}
inline unsigned count_release(unsigned *counter) {
    return __atomic_fetch_add(counter, 1, __ATOMIC_RELEASE);
}
inline void add_release(unsigned *counter) {
    count_release(counter);
}
inline unsigned load_acquire(const unsigned *from) {
    let_others_run();
    return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

// ---- clusters ---------------------------------------------------------------------------------

inline unsigned block_of_cluster() {
    return rank_in_cluster;
}

inline void cluster_arrive() {
    cluster_arrive_started();
}
inline void cluster_wait() {
    cluster_wait_started();
}

typedef unsigned long long mbarrier_t;

inline void mbarrier_init(mbarrier_t *barrier) {
    barrier_init(shared_address(barrier));
}
inline void publish_barriers() {}
inline void mbarrier_expect(mbarrier_t *barrier, unsigned bytes) {
    barrier_expect(shared_address(barrier), bytes);
}
inline void mbarrier_wait(mbarrier_t *barrier, unsigned parity) {
    barrier_wait(shared_address(barrier), parity);
}
inline void copy_bulk(float *to, const float *from, unsigned bytes, mbarrier_t *barrier) {
    copy_bulk(shared_address(to), from, bytes, shared_address(barrier));
}
inline void store_to_block(const float4 *own, mbarrier_t *barrier, unsigned block, float4 v) {
    send_to(address_in(block, shared_address(own)), v, address_in(block, shared_address(barrier)));
}
