// The instructions of tf32.cuh.
#pragma once

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error SKIP: needs tensor cores that take tf32 (sm_80)
#endif

// Rounds to the nearest tf32; tensor cores would truncate.
__device__ __forceinline__ unsigned to_tf32(float value) {
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value));
    return rounded;
}

__device__ __forceinline__ void multiply_add(float *d, const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
