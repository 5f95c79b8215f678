// PTX instructions of rung 07: bulk stores, and how blocks tell each other through the L2 what they have written.
#pragma once

// From shared to device memory, in order; a thread waits for its own.
__device__ __forceinline__ void store_bulk(void *to, unsigned from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\tcp.async.bulk.commit_group;" ::"l"(to),
                 "r"(from), "r"(bytes)
                 : "memory");
}
// Until at most one of them still reads shared memory.
__device__ __forceinline__ void wait_for_all_but_one_read() {
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
}
__device__ __forceinline__ void wait_for_stores() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Orders plain accesses to device memory and bulk copies.
__device__ __forceinline__ void proxy_fence() {
    asm volatile("fence.proxy.async.global;" ::: "memory");
}

// Barrier of the first `threads` of a block.
__device__ __forceinline__ void barrier_of(unsigned threads) {
    asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
}

// What this thread has written, or has seen written, is visible to whoever sees the count.
__device__ __forceinline__ void count_up(unsigned *counter) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}
__device__ __forceinline__ void wait_for_count(const unsigned *counter, unsigned at_least) {
    unsigned seen;
    do
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
    while (seen < at_least);
}

__device__ __forceinline__ void add_relaxed(unsigned long long *to, unsigned long long value) {
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}
