// PTX instructions without a CUDA C++ equivalent: asynchronous copies (sm_80), overlapping kernels, clusters and
// barriers that count bytes (sm_90). Shared-memory addresses are 32 bits wide.
#pragma once

__device__ __forceinline__ unsigned shared_address(const void *pointer) {
    return (unsigned)__cvta_generic_to_shared(pointer);
}

// The same number in all threads of a warp, as the compiler knows then: branches on it keep the warp together.
__device__ __forceinline__ unsigned warp_number() {
    return __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0);
}

// A barrier of so many threads of the block, whole warps, by a number from 1 to 15; 0 is __syncthreads().
__device__ __forceinline__ void sync_threads(unsigned number, unsigned threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void end_copy_group() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits for all copy groups of this thread except the last LEFT.
template <unsigned LEFT> __device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

// Copies 16 bytes to shared memory, past the L1. Zeros where not `valid`; `from` is then not read.
__device__ __forceinline__ void copy_16_async(unsigned to, const void *from, bool valid) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0)
                 : "memory");
}
#else
__device__ __forceinline__ void end_copy_group() {}
template <unsigned LEFT> __device__ __forceinline__ void wait_for_copies() {}
#endif

// For a kernel whose launch overlaps. The next one may start, up to where it waits; it may be the second one after this.
__device__ __forceinline__ void start_next_kernel() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Until the previous kernel has ended: then all that it wrote is visible.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Makes all writes of earlier kernels visible, then lets the next kernel start. So only the previous kernel can still
// be running: before this call a kernel may read what that one does not write, and must write nothing.
__device__ __forceinline__ void wait_for_earlier_kernels() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#if __CUDA_ARCH__ >= 900
// One thread of a warp that is here as a whole; the compiler knows that it is one.
__device__ __forceinline__ bool is_elected() {
    unsigned elected;
    asm volatile("{\n\t.reg .pred one;\n\t"
                 "elect.sync _|one, 0xFFFFFFFF;\n\t"
                 "selp.u32 %0, 1, 0, one;\n\t}"
                 : "=r"(elected));
    return elected;
}

// The same address in the shared memory of another block of the cluster.
__device__ __forceinline__ unsigned address_in(unsigned block, unsigned address) {
    unsigned remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(block));
    return remote;
}

__device__ __forceinline__ void store_in(unsigned remote, float value) {
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(remote), "f"(value) : "memory");
}

__device__ __forceinline__ unsigned block_in_cluster() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// As above, and `barrier`, in the same block, counts the bytes: what was sent is visible to who waited for them.
__device__ __forceinline__ void send_to(unsigned remote, float value, unsigned barrier) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(remote),
                 "f"(value), "r"(barrier)
                 : "memory");
}
__device__ __forceinline__ void send_to(unsigned remote, float2 values, unsigned barrier) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(remote),
                 "f"(values.x), "f"(values.y), "r"(barrier)
                 : "memory");
}
__device__ __forceinline__ void send_to(unsigned remote, float4 values, unsigned barrier) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                     remote),
                 "f"(values.x), "f"(values.y), "f"(values.z), "f"(values.w), "r"(barrier)
                 : "memory");
}

// Blocks may write to each other once all have started. Between the two calls nothing is sent.
__device__ __forceinline__ void cluster_arrive_started() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait_started() {
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

// Makes earlier shared-memory writes of all blocks of the cluster visible.
__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

// A phase ends with so many arrivals and the bytes that they announced. Visible to the cluster.
__device__ __forceinline__ void barrier_init(unsigned barrier, unsigned arrivals = 1) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(barrier),
                 "r"(arrivals)
                 : "memory");
}

__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// At a barrier of another block of the cluster. It makes no writes visible: with .release.cluster it would be a fence of the
// whole GPU.
__device__ __forceinline__ void barrier_arrive_in(unsigned remote) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
}

// An arrival that announces bytes.
__device__ __forceinline__ void barrier_expect(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Waits for the end of the phase with this parity.
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
    asm volatile("{\n\t.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra again;\n\t}" ::"r"(barrier), "r"(parity)
                 : "memory");
}

// Copies a multiple of 16 bytes from shared memory to that of another block of the cluster, whose barrier counts them.
__device__ __forceinline__ void send_bulk(unsigned remote, unsigned from, unsigned bytes, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     remote),
                 "r"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

// Copies a multiple of 16 bytes from device to shared memory; `barrier` counts them.
__device__ __forceinline__ void copy_bulk(unsigned to, const void *from, unsigned bytes, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}
#endif
