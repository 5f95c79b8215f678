// What the rungs of a described workload share: its element types, its parameters, and how the host launches it. The host
// compiles a rung per case and defines
//   WORKLOAD_TYPES      type letters as the case's element types: T (float, __half, __nv_bfloat16, double, …), W, …
//   WORKLOAD_ARGUMENTS  the parameters of every kernel: inputs `const T *__restrict__ x`, lists of them
//                       `array_list<const T, n> const WORKLOAD_CONSTANT w`, arrays computed in place
//                       `T *__restrict__`, or `array_list<T, n>`, outputs, `unsigned char *workspace`, scalars, then the params that are not
//                       compiled in as `long long rows`; of a training also `int step`, from 0 on (not of run())
//   WORKLOAD_STEPS      of a training: steps of a call
//   COLS, …             each param that workload.json calls constant, in capitals; of the list layers LAYERS=4,5,1,
//                       N_LAYERS=3 and LAYERS_0=4, …; DTYPE_F16, … as 0 or 1
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

WORKLOAD_TYPES

// Addresses of a list of arrays, w[0], w[1], …
#ifndef WORKLOAD_HOST
#define WORKLOAD_CONSTANT __grid_constant__
#define WORKLOAD_STEP , int step
#else // a function's
#define WORKLOAD_CONSTANT
#define WORKLOAD_STEP
#endif
template <class element, unsigned long long count> struct array_list { // names in capitals may be constant params
    element *address[count];
    __host__ __device__ element *operator[](int list_index) const { return address[list_index]; }
};

#define KERNEL(name) extern "C" __global__ void name(KERNEL_ARGUMENTS)
// With launch bounds: threads per block and, if given, the blocks that a multiprocessor has room for.
#define BOUNDED_KERNEL(name, ...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__) name(KERNEL_ARGUMENTS)

// A kernel whose launch is indexed(): it repeats with index 0, 1, … in place of one launch.
#define INDEXED_KERNEL(name) extern "C" __global__ void name(KERNEL_ARGUMENTS, int index)

// Those of the workload, then the rung's temporaries.
#define KERNEL_ARGUMENTS WORKLOAD_ARGUMENTS TEMPORARY_ARGUMENTS

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
    described_text<32> every;      // of a training: only in steps divisible by it, 0: in the last; else in each
    described_text<32> index;      // so many launches of this kernel, one after another: a layer, a batch
    unsigned side_by_side;         // 1: those run at the same time, each on its own stream
    unsigned in_turn;              // 1: as often as the launch above, with each index after it
};
static_assert(sizeof(described_launch) == 544, "texts as in launches.h, without a byte more");

// Launches with those two:   LAUNCHES = {every("10", {"loss", {"sm_count"}}), indexed("layers", {"forward", {"batch"}})};
__host__ __device__ constexpr described_launch every(described_text<32> steps, described_launch launch) {
    launch.every = steps;
    return launch;
}
__host__ __device__ constexpr described_launch indexed(described_text<32> times, described_launch launch) {
    launch.index = times;
    return launch;
}
// After an indexed() launch: the two, and further ones like this, take turns, for index 0, then 1, …
__host__ __device__ constexpr described_launch in_turn(described_launch launch) {
    launch.in_turn = 1;
    return launch;
}
// Only after the last step, whose number `step` is: what writes the weights back.
__host__ __device__ constexpr described_launch at_end(described_launch launch) { return every("0", launch); }
// indexed() launches that do not need each other: after the launch above, and before the one below, which waits for all.
__host__ __device__ constexpr described_launch side_by_side(described_text<32> times, described_launch launch) {
    launch.side_by_side = 1;
    return indexed(times, launch);
}

// All launches of a run, or of a training's step, in order:   LAUNCHES = {{"softmax", {"rows"}, {THREADS}}};
#define LAUNCHES extern "C" __device__ const described_launch launches[]
// Bytes of device memory for `workspace`, random at first:   WORKSPACE = "8 * sm_count";
#define WORKSPACE extern "C" __device__ const char workspace_bytes[64]
// Launched as a CUDA graph, whatever the technique `launch` is:   LAUNCHED_AS_GRAPH;
#define LAUNCHED_AS_GRAPH extern "C" __device__ const unsigned char launched_as_graph = 1
// Another algorithm with the same result, which is not compared with others:   ALGORITHMIC;
#define ALGORITHMIC extern "C" __device__ const unsigned char is_algorithmic = 1

// Launches that overlap others write temporaries only after wait_for_earlier_kernels(), so that one may be given back
// while a later kernel has begun:   TEMPORARIES_AFTER_WAIT;
#define TEMPORARIES_AFTER_WAIT extern "C" __device__ const unsigned char temporaries_after_wait = 1

// Device memory from the case's allocator (technique alloc): taken before the first of its launches, given back after the
// last one; NULL before and after. Its contents are random at first.
struct described_temporary {
    char name[64];
    char bytes[64]; // expression
    char first[64]; // launch: its kernel, or its number in LAUNCHES, and which index: "forward[2]"
    char last[64];  // not given: the first
    unsigned count; // of a list, in whose texts `i` is the number of each; else 0
};
static_assert(sizeof(described_temporary) == 260, "texts as in temporaries.h, without a byte more");

// All of a rung, before the include; kernels get a parameter `float *__restrict__ hidden`, or, of a list,
// `array_list<float, 3> const WORKLOAD_CONSTANT a`:
//   #define TEMPORARIES TEMPORARY(float, hidden, "4 * rows * 512", "forward", "backward") TEMPORARY(…) \
//                       TEMPORARY_LIST(float, a, 3, "4 * rows", "forward[i]", "backward[2 - i]")
#ifndef TEMPORARIES
#define TEMPORARY_ARGUMENTS
#else
__host__ __device__ constexpr described_temporary temporary_list(unsigned count, described_temporary temporary) {
    temporary.count = count;
    return temporary;
}
#define TEMPORARY(type, name, ...) {#name, __VA_ARGS__},
#define TEMPORARY_LIST(type, name, count, ...) temporary_list(count, {#name, __VA_ARGS__}),
extern "C" __device__ const described_temporary temporaries[] = {TEMPORARIES};
#undef TEMPORARY
#undef TEMPORARY_LIST
#define TEMPORARY(type, name, ...) , type *__restrict__ name
#define TEMPORARY_LIST(type, name, count, ...) , array_list<type, count> const WORKLOAD_CONSTANT name
#define TEMPORARY_ARGUMENTS TEMPORARIES
#endif
