// Loads and stores of rungs 03 and 04 (common/tensor_cores.cuh has the fragments).
// The order of rows along the sum is free if both factors agree. So each lane loads whole 16-byte vectors and uses them
// as several fragments, without shared memory.
#pragma once
#include "common/tensor_cores.cuh"

// {x.low, y.low} or {x.high, y.high}.
__device__ __forceinline__ unsigned join(unsigned x, unsigned y, bool high) {
    return __byte_perm(x, y, high ? 0x7632 : 0x5410);
}

template <unsigned WORDS> struct __align__(4 * WORDS) vector_t {
    unsigned word[WORDS];
};

// Bypasses the L1: other multiprocessors wrote it, and it is read once.
template <unsigned WORDS> __device__ __forceinline__ vector_t<WORDS> load(const void *from) {
    vector_t<WORDS> v;
    if constexpr (WORDS == 4) {
        const uint4 bits = __ldcg(static_cast<const uint4 *>(from));
        v = {{bits.x, bits.y, bits.z, bits.w}};
    } else if constexpr (WORDS == 2) {
        const uint2 bits = __ldcg(static_cast<const uint2 *>(from));
        v = {{bits.x, bits.y}};
    } else {
        v = {{__ldcg(static_cast<const unsigned *>(from))}};
    }
    return v;
}

// One vector store, where the compiler would store word by word.
template <unsigned WORDS> __device__ __forceinline__ void store(void *to, const vector_t<WORDS> &v) {
    if constexpr (WORDS == 4)
        asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.word[0]), "r"(v.word[1]),
                     "r"(v.word[2]), "r"(v.word[3])
                     : "memory");
    else if constexpr (WORDS == 2)
        asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(v.word[0]), "r"(v.word[1]) : "memory");
    else
        *static_cast<unsigned *>(to) = v.word[0];
}

#if __CUDA_ARCH__ >= 800
// Zeros where not `valid`; `from` is then not read.
template <unsigned WORDS>
__device__ __forceinline__ void copy_async(vector_t<WORDS> *to_shared, const void *from, bool valid) {
    const unsigned to = shared_address(to_shared), bytes = valid ? 4 * WORDS : 0;
    if constexpr (WORDS == 4)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(4 * WORDS), "r"(bytes)
                     : "memory");
}
#endif

__device__ __forceinline__ void wait_for_earlier_stages() {
#if OVERLAPPED
    wait_for_earlier_kernels();
#endif
}
