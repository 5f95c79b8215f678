// kernels/mnist_train/persistent_ptx.cuh on the host.
#pragma once
#include "../common/relaxed.cuh"
#include "../common/tensor_cores.cuh"

typedef unsigned fragment_t[4];

#if ACCUMULATE_F16
struct tile_t {
    unsigned value[2] = {0, 0};

    float2 upper() const { return make_float2(half_of(value[0], 0), half_of(value[0], 1)); }
    float2 lower() const { return make_float2(half_of(value[1], 0), half_of(value[1], 1)); }
};
#else
struct tile_t {
    float value[4] = {0, 0, 0, 0};

    float2 upper() const { return make_float2(value[0], value[1]); }
    float2 lower() const { return make_float2(value[2], value[3]); }
};
#endif

inline void multiply_add(tile_t &sums, const fragment_t &a, unsigned b0, unsigned b1) {
    const unsigned b[2] = {b0, b1};
    multiply_add(sums.value, a, b);
}

inline void copies_fence() {}
inline void fence_gpu() {}
inline void hide_from_compiler(unsigned &) {}
inline void prefetch_l2(const void *) {}

#if CLUSTER
inline void copy_bulk_to_all(unsigned to, const void *from, unsigned bytes, unsigned barrier) {
    for (unsigned block = 0; block < BLOCKS; block++) {
        memcpy(from_remote(address_in(block, to)), from, bytes);
        barrier_count(from_remote(address_in(block, barrier)), -(int)bytes, 0);
    }
}
#endif

inline void store_async(unsigned to, const unsigned (&words)[4], unsigned barrier) {
    if (to % 16 != 0)
        abort();
    memcpy(from_remote(to), words, 16);
    barrier_count(from_remote(barrier), -16, 0);
}
