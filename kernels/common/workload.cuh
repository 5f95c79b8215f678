// What the rungs of a described workload share: its element type, its parameters, and how the host launches it. The host
// compiles a rung per case and defines
//   WORKLOAD_T          the case's element type (float, __half, __nv_bfloat16, double, …), here T
//   WORKLOAD_ARGUMENTS  the parameters of every kernel: inputs `const T *__restrict__ x`, or with "by_value": true
//                       `by_value<T, n> const WORKLOAD_CONSTANT x`, arrays computed in place
//                       `T *__restrict__`, outputs, `unsigned char *workspace`, scalars, then the params that are not
//                       compiled in as `long long rows`
//   COLS, …             each param that workload.json calls constant, in capitals; DTYPE_F16, … as 0 or 1
// Arrays are dense, row-major, and 256-byte aligned. bench/workloads/described/launches.h mirrors the structs; a test
// compares the two. A rung that does not support a case contains `#error SKIP: reason`.
#pragma once
#include "launch.cuh"

#if WORKLOAD_F16
#include <cuda_fp16.h>
#endif
#if WORKLOAD_BF16
#include <cuda_bf16.h>
#endif
#if WORKLOAD_FP8
#include <cuda_fp8.h>
#endif

typedef WORKLOAD_T T;

// An input in the kernel's parameters, constant memory, where a word that all lanes read is free. Used like a pointer.
#ifndef WORKLOAD_CONSTANT // not of functions of the host
#define WORKLOAD_CONSTANT __grid_constant__
#endif
template <class element, unsigned long long count> struct by_value { // names in capitals may be constant params
    element value[count];
    __host__ __device__ operator const element *() const { return value; }
};

#define KERNEL(name) extern "C" __global__ void name(WORKLOAD_ARGUMENTS)
// With launch bounds: threads per block and, if given, the blocks that a multiprocessor has room for.
#define BOUNDED_KERNEL(name, ...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__) name(WORKLOAD_ARGUMENTS)

// An expression over params and sm_count, the number of multiprocessors: "ceil_div(rows, 4)", or joined from texts and
// constants of the program: {"ceil_div(rows, ", ROWS, ")"}. One that is too long does not compile.
template <unsigned SIZE> struct described_text {
    char text[SIZE];

    template <class... Parts> __host__ __device__ constexpr described_text(const Parts &...parts) : text() {
        unsigned length = 0;
        (append(length, parts), ...);
    }

  private:
    __host__ __device__ constexpr void append(unsigned &length, const char *part) {
        for (; *part != '\0'; part++)
            text[length++] = *part;
        text[length] = '\0';
    }
    __host__ __device__ constexpr void append(unsigned &length, unsigned long long number) {
        unsigned long long unit = 1;
        while (number / unit >= 10)
            unit *= 10;
        for (; unit > 0; unit /= 10)
            text[length++] = (char)('0' + number / unit % 10);
        text[length] = '\0';
    }
};

// A launch. A size that is not given is 1, or 0 bytes.
struct described_launch {
    char entry[64];               // name of the kernel
    described_text<64> grid[3];    // blocks: x, y, z
    described_text<32> threads[3]; // per block
    described_text<64> shared;     // dynamic shared memory, in bytes
    described_text<16> cluster[3]; // blocks per cluster; sm_90 and up
    unsigned cooperative;         // 1: all blocks are resident, so they may wait for each other
    unsigned overlaps;            // 1: may start before the launch above it ends, and waits for it itself (sm_90)
};
static_assert(sizeof(described_launch) == 472, "texts as in launches.h, without a byte more");

// All launches of a run, in order:   LAUNCHES = {{"softmax", {"rows"}, {THREADS}}};
#define LAUNCHES extern "C" __device__ const described_launch launches[]
// Bytes of device memory for `workspace`, random at first:   WORKSPACE = "8 * sm_count";
#define WORKSPACE extern "C" __device__ const char workspace_bytes[64]
