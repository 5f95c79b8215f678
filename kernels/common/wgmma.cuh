// Products of a warpgroup (four warps) on Hopper's tensor cores, with both operands in shared memory: wgmma, which
// only sm_90a has. An operand's row is 64 elements of fp16 (or bf16, if that is the workload's type) along the sum, 128 bytes, and rows are stored one after
// another; the chunk c of 16 bytes of row r lies at place c ^ r % 8 (PTX ISA, "128-Byte swizzle"). Operands begin at a
// multiple of 1024 bytes.
#pragma once
#include "ptx.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// Of an operand at a shared-memory address, from element 16 * `sixteenth` of its rows on: eight rows take 1024 bytes.
__device__ __forceinline__ unsigned long long operand_at(unsigned address, unsigned sixteenth) {
    constexpr unsigned long long UNUSED = 1ull << 16, EIGHT_ROWS = (1024ull >> 4) << 32, SWIZZLE_128 = 1ull << 62;
    return ((address & 0x3FFFF) >> 4 | UNUSED | EIGHT_ROWS | SWIZZLE_128) + sixteenth * 2;
}

// Writes of this thread to shared memory are visible to products after the block's next barrier.
__device__ __forceinline__ void show_to_products() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void begin_products() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void end_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits for all groups of products except the last LEFT.
template <unsigned LEFT> __device__ __forceinline__ void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// Registers per thread from here on, a multiple of 8, said by all of a warpgroup: fewer, and what others of the block wait
// for until there are enough. ptxas has as many for what follows.
template <unsigned REGISTERS> __device__ __forceinline__ void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <unsigned REGISTERS> __device__ __forceinline__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

// d += a * b, or d = a * b with `add` 0: a has 64 rows, b COLUMNS (64, 128 or 256), both 16 elements along the sum. Warp
// w of the four has rows 16 * w … 16 * w + 15 of d: d[j] is columns 8 * j … 8 * j + 7, a fragment as in tensor_cores.cuh.

// clang-format off
#if WORKLOAD_BF16
#define WGMMA_TYPE "bf16"
#else
#define WGMMA_TYPE "f16"
#endif
#define SUMS_32 \
    " %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15," \
    " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SUMS_64 SUMS_32 "," \
    " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47," \
    " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SUMS_128 SUMS_64 "," \
    " %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79," \
    " %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95," \
    " %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111," \
    " %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define SUM(j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define SUM_8(j) SUM(j), SUM(j + 1), SUM(j + 2), SUM(j + 3), SUM(j + 4), SUM(j + 5), SUM(j + 6), SUM(j + 7)
#define SUM_16(j) SUM_8(j), SUM_8(j + 8)
#define SUM_32(j) SUM_16(j), SUM_16(j + 16)
#define PRODUCTS(COLUMNS, FRAGMENTS, LIST, A, B, ADD) \
__device__ __forceinline__ void multiply_64(float (&d)[FRAGMENTS][4], unsigned long long a, unsigned long long b, unsigned add) { \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " ADD ", 0;\n\t" \
        "wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k16.f32." WGMMA_TYPE "." WGMMA_TYPE " {" LIST "}, " A ", " B ", p, 1, 1, 0, 0;\n\t}" \
        : SUM_##FRAGMENTS(0) : "l"(a), "l"(b), "r"(add) : "memory"); \
}
PRODUCTS(64, 8, SUMS_32, "%32", "%33", "%34")
PRODUCTS(128, 16, SUMS_64, "%64", "%65", "%66")
PRODUCTS(256, 32, SUMS_128, "%128", "%129", "%130")
// clang-format on
#endif
