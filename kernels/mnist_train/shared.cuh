// Shared memory as PTX sees it, for rungs 04 and 05: its addresses are 32 bits wide.
#pragma once

__device__ __forceinline__ unsigned shared_address(const void *of_this_block) {
    return (unsigned)__cvta_generic_to_shared(of_this_block);
}

// Four 8 x 8 matrices, whose rows lie where lanes 0-7, 8-15, 16-23 and 24-31 say.
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
// Until the phase of this parity is over.
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
    asm volatile("{\n\t.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra again;\n\t}" ::"r"(barrier), "r"(parity)
                 : "memory");
}
#endif
