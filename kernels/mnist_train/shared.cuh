// Loads of tensor core operands from shared memory, for rungs 04 and 05.
#pragma once
#include "../common/ptx.cuh"

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
