// What the rungs of an own operator share: its element type, its parameters, and how the host launches it. The host
// compiles a rung per case and defines
//   OPERATOR_T          the case's element type (float, __half, __nv_bfloat16, double, …), here T
//   OPERATOR_ARGUMENTS  the parameters of every kernel: inputs `const T *__restrict__ x`, arrays computed in place
//                       `T *__restrict__`, outputs, `unsigned char *workspace`, scalars, then the params that are not
//                       compiled in as `long long rows`
//   COLS, …             each param that operator.json calls constant, in capitals; DTYPE_F16, … as 0 or 1
// Arrays are dense, row-major, and 256-byte aligned. bench/workloads/operator/launches.h mirrors the structs; a test
// compares the two. A rung that does not support a case contains `#error SKIP: reason`.
#pragma once
#include "launch.cuh"

#if OPERATOR_F16
#include <cuda_fp16.h>
#endif
#if OPERATOR_BF16
#include <cuda_bf16.h>
#endif

typedef OPERATOR_T T;

#define KERNEL(name) extern "C" __global__ void name(OPERATOR_ARGUMENTS)

// A launch. Sizes are expressions over params and sm_count, the number of multiprocessors; "" is 1, or 0 bytes.
struct operator_launch {
    char entry[64];        // name of the kernel
    char grid[3][64];      // blocks: x, y, z
    char threads[3][32];   // per block
    char shared[64];       // dynamic shared memory, in bytes
    char cluster[3][16];   // blocks per cluster; sm_90 and up
    unsigned cooperative;  // 1: all blocks are resident, so they may wait for each other
};

// All launches of a run, in order:   LAUNCHES = {{"softmax", {"rows"}, {"256"}}};
#define LAUNCHES extern "C" __device__ const operator_launch launches[]
// Bytes of device memory for `workspace`, random at first:   WORKSPACE = "8 * sm_count";
#define WORKSPACE extern "C" __device__ const char workspace_bytes[64]
