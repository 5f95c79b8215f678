// What CUDA C++ has no words for: copies past the registers (sm_80), kernels that overlap, clusters of blocks and
// barriers that count bytes (sm_90). Addresses of shared memory are 32 bits wide, as these instructions take them.
#pragma once

__device__ __forceinline__ unsigned shared_address(const void *of_this_block) {
    return (unsigned)__cvta_generic_to_shared(of_this_block);
}

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void end_copy_group() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// All groups of this thread but the last LEFT are there.
template <unsigned LEFT> __device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}
#else
__device__ __forceinline__ void end_copy_group() {}
template <unsigned LEFT> __device__ __forceinline__ void wait_for_copies() {}
#endif

// All that earlier kernels wrote is there from here on. The next kernel may start now, so that of those in front of it
// only this one can still run: before its own wait it may read what this one does not write, and write nothing.
__device__ __forceinline__ void wait_for_earlier_kernels() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#if __CUDA_ARCH__ >= 900
// The same place in the shared memory of another block of the cluster.
__device__ __forceinline__ unsigned address_in(unsigned block, unsigned address) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
    return there;
}

// What one block wrote to its shared memory before, the others may read behind it.
__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

// One thread's arrival ends a phase, when all bytes that it announced are there. To be shown to the other blocks.
__device__ __forceinline__ void barrier_init(unsigned barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void barrier_expect(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Until the phase of this parity is over.
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
    asm volatile("{\n\t.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra again;\n\t}" ::"r"(barrier), "r"(parity)
                 : "memory");
}

// A multiple of 16 bytes from device memory into this block's shared memory, where `barrier` counts them.
__device__ __forceinline__ void copy_bulk(unsigned to, const void *from, unsigned bytes, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}
#endif
