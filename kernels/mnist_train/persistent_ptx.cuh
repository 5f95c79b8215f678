// PTX instructions of rung 05: matrix fragments, asynchronous copies and stores.
#pragma once
#include "common/relaxed.cuh"
#include "common/tensor_cores.cuh"

// 16 x 16 halves over a warp: row lane / 4 (+ 8 in words 1 and 3), columns lane % 4 * 2 and the next (+ 8 in words 2
// and 3). This is operand A of a product; words 0 and 2, or 1 and 3, are operand B of the transposed matrix; two tiles
// of 16 x 8 sums have the same layout. So a weight stays in one register of one lane in all products and its update.
typedef unsigned fragment_t[4];

// A tile of 16 x 8 sums, and += A (16 x 16) · B (16 x 8).
#if ACCUMULATE_F16
struct tile_t {
    unsigned packed[2] = {0, 0};

    __device__ __forceinline__ float2 upper() const { return __half22float2(*(const half2 *)&packed[0]); }
    __device__ __forceinline__ float2 lower() const { return __half22float2(*(const half2 *)&packed[1]); }
};

__device__ __forceinline__ void multiply_add(tile_t &sums, const fragment_t &a, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
        : "+r"(sums.packed[0]), "+r"(sums.packed[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#else
struct tile_t {
    float value[4] = {0, 0, 0, 0};

    __device__ __forceinline__ float2 upper() const { return make_float2(value[0], value[1]); }
    __device__ __forceinline__ float2 lower() const { return make_float2(value[2], value[3]); }
};

__device__ __forceinline__ void multiply_add(tile_t &sums, const fragment_t &a, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums.value[0]), "+f"(sums.value[1]), "+f"(sums.value[2]), "+f"(sums.value[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#endif

// Copies 16 bytes from global to shared memory; copies_wait() waits for all of this thread's.
__device__ __forceinline__ void copy_async(unsigned to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

__device__ __forceinline__ void copies_wait() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

__device__ __forceinline__ void prefetch_l2(const void *from) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

#if __CUDA_ARCH__ >= 900
#if CLUSTER
// copy_bulk to the same address in each block of the cluster; each block's barrier counts the bytes.
__device__ __forceinline__ void copy_bulk_to_all(unsigned to, const void *from, unsigned bytes, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
                 "[%3], %4;" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier), "h"((unsigned short)((1u << BLOCKS) - 1))
                 : "memory");
}
#endif

// Orders this thread's plain accesses to shared memory and bulk copies.
__device__ __forceinline__ void copies_fence() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Stores 16 bytes to a block's shared memory, where `barrier` counts them.
__device__ __forceinline__ void store_async(unsigned to, const unsigned (&words)[4], unsigned barrier) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                     to),
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(barrier)
                 : "memory");
}
#endif

__device__ __forceinline__ void fence_gpu() {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

__device__ __forceinline__ void hide_from_compiler(unsigned &value) {
    asm volatile("" : "+r"(value));
}
