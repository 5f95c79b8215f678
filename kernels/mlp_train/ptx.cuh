// The instructions of common/ptx.cuh in the form that mlp_train needs, and more.
#pragma once
#include "../common/ptx.cuh"
#include "../common/relaxed.cuh"

constexpr bool HAS_ASYNC_COPIES = __CUDA_ARCH__ >= 800, HAS_CLUSTERS = __CUDA_ARCH__ >= 900;

// Copies 4 or 16 bytes from device to shared memory; zeros where not `valid`.
template <unsigned BYTES> __device__ __forceinline__ void copy_async(float *to_shared, const float *from, bool valid) {
#if __CUDA_ARCH__ >= 800
    const unsigned to = shared_address(to_shared), bytes = valid ? BYTES : 0;
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

__device__ __forceinline__ void prefetch(const float *from) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

// A thread that loads what another one counted sees what that one wrote before.
__device__ __forceinline__ unsigned count_release(unsigned *counter) {
    unsigned before;
    asm volatile("atom.release.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
}

__device__ __forceinline__ void add_release(unsigned *counter) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

__device__ __forceinline__ unsigned load_acquire(const unsigned *from) {
    unsigned v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
    return v;
}

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned block_of_cluster() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// A barrier in two halves, without a release: for blocks that have written nothing yet.
__device__ __forceinline__ void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

typedef unsigned long long mbarrier_t;

// A phase ends with one thread's arrival and the bytes that it announced.
__device__ __forceinline__ void mbarrier_init(mbarrier_t *barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
}

// Makes initialised barriers visible to the cluster.
__device__ __forceinline__ void publish_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_expect(mbarrier_t *barrier, unsigned bytes) {
    barrier_expect(shared_address(barrier), bytes);
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

// Copies a multiple of 16 bytes from device memory.
__device__ __forceinline__ void copy_bulk(float *to, const float *from, unsigned bytes, mbarrier_t *barrier) {
    copy_bulk(shared_address(to), from, bytes, shared_address(barrier));
}

// Stores to another block of the cluster, whose barrier counts the 16 bytes.
__device__ __forceinline__ void store_to_block(const float4 *own, mbarrier_t *barrier, unsigned block, float4 v) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                     address_in(block, shared_address(own))),
                 "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "r"(address_in(block, shared_address(barrier)))
                 : "memory");
}
#endif
