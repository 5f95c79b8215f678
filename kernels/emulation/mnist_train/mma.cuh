// kernels/mnist_train/mma.cuh on the host.
#pragma once
#include "../common/tensor_cores.cuh"

inline unsigned join(unsigned x, unsigned y, bool high) {
    return __byte_perm(x, y, high ? 0x7632 : 0x5410);
}

template <unsigned WORDS> struct __align__(4 * WORDS) vector_t {
    unsigned word[WORDS];
};

template <unsigned WORDS> vector_t<WORDS> load(const void *from) {
    return __ldcg((const vector_t<WORDS> *)from);
}
template <unsigned WORDS> void store(void *to, const vector_t<WORDS> &v) {
    __stcg((vector_t<WORDS> *)to, v);
}
template <unsigned WORDS> void copy_async(vector_t<WORDS> *to_shared, const void *from, bool valid);  // not used here

inline void wait_for_earlier_stages() {}
