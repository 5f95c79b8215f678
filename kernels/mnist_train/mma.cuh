// Instructions of rungs 03 and 04: tensor cores and asynchronous copies. Matrices are warp fragments (PTX ISA, "Matrix
// Fragments for mma.m16n8k16"). With g = lane / 4 and t = lane % 4, two halves per word, a lane holds
//   A (16, 16)  words 0 … 3: row g, columns 2t, 2t + 1; row g + 8; then the same two with columns 2t + 8, 2t + 9
//   B (16, 8)   words 0, 1: rows 2t, 2t + 1 of column g; rows 2t + 8, 2t + 9
//   D (16, 8)   row g, columns 2t, 2t + 1; row g + 8
// The order of rows along the sum is free if both factors agree. So each lane loads whole 16-byte vectors and uses them
// as several fragments, without shared memory.
#pragma once
#include "../common/ptx.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 750
#error SKIP: needs mma.m16n8k8 in fp16 (sm_75)
#endif

// d += a * b, summed in float32.
__device__ __forceinline__ void multiply_add(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
#pragma unroll
    for (unsigned k = 0; k < 2; k++)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]));
#endif
}

// d += a * b, summed in fp16: a word is two neighbouring columns.
__device__ __forceinline__ void multiply_add(unsigned (&d)[2], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
#pragma unroll
    for (unsigned k = 0; k < 2; k++)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                     : "+r"(d[0]), "+r"(d[1])
                     : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]));
#endif
}

// Transposes an 8 x 8 matrix; lane (g, t) holds row g, columns 2t and 2t + 1.
__device__ __forceinline__ unsigned transposed(unsigned matrix) {
    unsigned result;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(matrix));
    return result;
}

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
