// PTX instructions of rung 04: copies and stores with a hint for the L2, clusters.
#pragma once

// Arrives when all copies of this thread are complete.
__device__ __forceinline__ void barrier_arrive_copied(unsigned barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void cluster_arrive() {
    if (CLUSTER > 1)
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
    if (CLUSTER > 1)
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    else
        __syncthreads();
}

__device__ __forceinline__ unsigned long long keep_policy() {
    unsigned long long policy = 0;
    if (KEEPS)
        asm("createpolicy.fractional.L2::evict_last.L2::evict_first.b64 %0, %1;"
            : "=l"(policy)
            : "f"((float)(KEPT_BYTES / MATRICES_BYTES)));
    return policy;
}

// Zeros where not `valid`; `from` is then not read.
template <bool KEPT>
__device__ __forceinline__ void copy_16(unsigned to, const void *from, bool valid, unsigned long long policy = 0) {
    const unsigned bytes = valid ? 16 : 0;
    if (KEPT && KEEPS)
        asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2, %3;" ::"r"(to), "l"(from),
                     "r"(bytes), "l"(policy)
                     : "memory");
    else
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                     : "memory");
}
template <bool KEPT> __device__ __forceinline__ void store_16(void *to, const uint4 &v, unsigned long long policy = 0) {
    if (KEPT && KEEPS)
        asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to), "r"(v.x), "r"(v.y),
                     "r"(v.z), "r"(v.w), "l"(policy)
                     : "memory");
    else
        *static_cast<uint4 *>(to) = v;
}

__device__ __forceinline__ uint4 load_shared(unsigned address) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address)
                 : "memory");
    return v;
}
__device__ __forceinline__ void store_sums(unsigned address, unsigned block, float4 v) {
    const unsigned remote = CLUSTER > 1 ? address_in(block, address) : address;
    asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(remote), "f"(v.x), "f"(v.y), "f"(v.z),
                 "f"(v.w)
                 : "memory");
}
