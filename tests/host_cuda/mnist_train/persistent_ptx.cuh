// kernels/mnist_train/persistent_ptx.cuh on the host. Words of other blocks are read and written atomically.
#pragma once
#include "../common/tensor_cores.cuh"

typedef unsigned fragment_t[4];

struct tile_t {
    float value[4] = {0, 0, 0, 0};

    float2 upper() const { return make_float2(value[0], value[1]); }
    float2 lower() const { return make_float2(value[2], value[3]); }
};

inline void multiply_add(tile_t &sums, const fragment_t &a, unsigned b0, unsigned b1) {
    const unsigned b[2] = {b0, b1};
    multiply_add(sums.value, a, b);
}

inline void copies_fence() {}

inline void store_async(unsigned to, const unsigned (&words)[4], unsigned barrier) {
    if (to % 16 != 0)
        abort();
    memcpy(from_remote(to), words, 16);
    barrier_count(from_remote(barrier), -16, 0);
}

inline void store_relaxed(unsigned *to, unsigned word) {
    __atomic_store_n(to, word, __ATOMIC_RELAXED);
}
inline void store_relaxed(uint4 *to, uint4 words) {
    if ((uintptr_t)to % 16 != 0)
        abort();
    for (unsigned i = 0; i < 4; i++)
        store_relaxed((unsigned *)to + i, (&words.x)[i]);
}

// Loads are polled: other threads of the block have to run meanwhile.
inline unsigned load_relaxed(const unsigned *from) {
    let_others_run();
    return __atomic_load_n(from, __ATOMIC_RELAXED);
}
inline uint2 load_relaxed(const uint2 *from) {
    const unsigned x = load_relaxed((const unsigned *)from);
    return {x, __atomic_load_n(&from->y, __ATOMIC_RELAXED)};
}
inline uint4 load_relaxed(const uint4 *from) {
    const uint2 low = load_relaxed((const uint2 *)from);
    return {low.x, low.y, __atomic_load_n(&from->z, __ATOMIC_RELAXED), __atomic_load_n(&from->w, __ATOMIC_RELAXED)};
}
