// Tensor cores: matrix products of a warp in fp16, and loads of their operands from shared memory. Matrices are warp
// fragments (PTX ISA, "Matrix Fragments for mma.m16n8k16"). With g = lane / 4 and t = lane % 4, two halves per word, a
// lane holds
//   A (16, 16)  words 0 … 3: row g, columns 2t, 2t + 1; row g + 8; then the same two with columns 2t + 8, 2t + 9
//   B (16, 8)   words 0, 1: rows 2t, 2t + 1 of column g; rows 2t + 8, 2t + 9
//   D (16, 8)   row g, columns 2t, 2t + 1; row g + 8
#pragma once
#include "ptx.cuh"

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

// Four 8 x 8 matrices; lanes 0-7, 8-15, 16-23 and 24-31 give the addresses of their rows.
template <bool TRANSPOSED> __device__ __forceinline__ void load_matrices(unsigned (&to)[4], unsigned address) {
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(address)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(address)
                     : "memory");
}

#if __CUDA_ARCH__ >= 900
// The reverse.
template <bool TRANSPOSED> __device__ __forceinline__ void store_matrices(unsigned address, const unsigned (&from)[4]) {
    if (TRANSPOSED)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
                     "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
                     : "memory");
    else
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(from[0]),
                     "r"(from[1]), "r"(from[2]), "r"(from[3])
                     : "memory");
}
#endif
