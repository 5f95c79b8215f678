// What CUDA C++ has no words for: copies past the registers (sm_80), kernels that overlap and clusters (sm_90).
#pragma once

constexpr bool HAS_ASYNC_COPIES = __CUDA_ARCH__ >= 800, HAS_CLUSTERS = __CUDA_ARCH__ >= 900;

// 4 or 16 bytes from device memory, past the L1 cache, into shared memory; zeros where not `valid`.
template <unsigned BYTES> __device__ __forceinline__ void copy_async(float *to_shared, const float *from, bool valid) {
#if __CUDA_ARCH__ >= 800
    const unsigned to = (unsigned)__cvta_generic_to_shared(to_shared), bytes = valid ? BYTES : 0;
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
#else
    if constexpr (BYTES == 16)
        *(float4 *)to_shared = valid ? __ldcg((const float4 *)from) : make_float4(0, 0, 0, 0);
    else
        *to_shared = valid ? __ldcg(from) : 0.0f;
#endif
}

__device__ __forceinline__ void end_copy_group() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// All groups of this thread but the last LEFT are there.
template <unsigned LEFT> __device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

// All that earlier kernels wrote is there from here on. The next kernel may start now, so that of those in front of it
// only this one can still run: before its own wait it may read what this one does not write, and write nothing.
__device__ __forceinline__ void wait_for_earlier_kernels() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned block_of_cluster() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// Half of a barrier each, for blocks that have written nothing yet: behind the second all have come to the first.
__device__ __forceinline__ void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

// What one block wrote to its shared memory before, the others may read behind it.
__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

// From the same place in the shared memory of another block of the cluster.
__device__ __forceinline__ float4 load_from_block(const float4 *own, unsigned block) {
    unsigned there;
    float4 v;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(own)), "r"(block));
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"(there)
                 : "memory");
    return v;
}
#endif

#if __CUDA_ARCH__ >= 900
// ---- stores to other blocks of the cluster, and barriers that count the bytes ------------------------------------

typedef unsigned long long mbarrier_t;

__device__ __forceinline__ unsigned shared_address(const void *at) {
    return (unsigned)__cvta_generic_to_shared(at);
}

// The same place in the shared memory of another block of the cluster.
__device__ __forceinline__ unsigned address_in_block(const void *own, unsigned block) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(own)), "r"(block));
    return there;
}

// One thread's arrival ends a phase, when all bytes that it announced are there.
__device__ __forceinline__ void mbarrier_init(mbarrier_t *barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
}

// To the other blocks of the cluster.
__device__ __forceinline__ void show_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_expect(mbarrier_t *barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void mbarrier_wait(mbarrier_t *barrier, unsigned parity) {
    unsigned done;
    do
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(parity)
                     : "memory");
    while (!done);
}

// Multiples of 16 bytes from device memory, which the barrier counts.
__device__ __forceinline__ void copy_bulk(float *to_shared, const float *from, unsigned bytes, mbarrier_t *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to_shared)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}

// To another block of the cluster, whose barrier counts the 16 bytes.
__device__ __forceinline__ void store_to_block(const float4 *own, mbarrier_t *barrier, unsigned block, float4 v) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                     address_in_block(own, block)),
                 "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "r"(address_in_block(barrier, block))
                 : "memory");
}
#endif
