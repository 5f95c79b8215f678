// kernels/mlp_train/ptx.cuh on the host, as far as the rungs that keep their weights on the chip use it.
#pragma once
#include "../common/ptx.cuh"
#include "../common/relaxed.cuh"
#include <map>

template <unsigned BYTES> void copy_async(float *to_shared, const float *from, bool valid) {
    static_assert(BYTES == 16, "not needed here");
    copy_16_async(shared_address(to_shared), from, valid);
}

// ---- between blocks ---------------------------------------------------------------------------

inline void prefetch(const float *from) {
    (void)*(const volatile float *)from;
}
inline unsigned count_release(unsigned *counter) {
    return __atomic_fetch_add(counter, 1, __ATOMIC_RELEASE);
}
inline unsigned load_acquire(const unsigned *from) {
    let_others_run();
    return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

// ---- clusters ---------------------------------------------------------------------------------

inline unsigned block_of_cluster() {
    return rank_in_cluster;
}

// The bytes that have arrived, of all phases; what the block expects is its own. An object in another place.
typedef unsigned long long mbarrier_t;
struct expected_t {
    unsigned long long bytes;
    unsigned phases;
};
static thread_local std::map<mbarrier_t *, expected_t> expected;

inline void mbarrier_init(mbarrier_t *barrier) {
    __atomic_store_n(barrier, 0, __ATOMIC_RELEASE);
    expected[barrier] = {0, 0};
}
inline void publish_barriers() {}
inline void mbarrier_expect(mbarrier_t *barrier, unsigned bytes) {
    expected[barrier].bytes += bytes;
    expected[barrier].phases++;
}
inline unsigned phases_done(mbarrier_t *barrier) {
    const unsigned long long arrived = __atomic_load_n(barrier, __ATOMIC_ACQUIRE);
    const expected_t &of = expected[barrier];
    return arrived >= of.bytes ? of.phases : of.phases - 1;
}
inline void mbarrier_wait(mbarrier_t *barrier, unsigned parity) {
    while (phases_done(barrier) % 2 == parity)
        let_others_run();
}

template <class Object> Object *in_block(unsigned block, Object *own) {
    return (Object *)(cluster->of_block[block] + ((char *)own - (char *)dynamic_shared));
}
inline void store_to_block(const float4 *own, mbarrier_t *barrier, unsigned block, float4 v) {
    *(float4 *)in_block(block, own) = v;
    __atomic_fetch_add(in_block(block, barrier), sizeof v, __ATOMIC_RELEASE);
}
