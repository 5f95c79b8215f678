// Tensor maps, by which TMA copies tiles of the workload's arrays (sm_90): the rung has a table of them beside LAUNCHES,
// the host encodes them for the addresses of each launch, and kernels get them as their last parameters. What copies by
// them is in tma.cuh. bench/workloads/described/tensor_maps.h mirrors the struct; a test compares the two.
#pragma once
#include "workload.cuh"

// CUtensorMap of <cuda.h>, which NVRTC has not.
struct __align__(128) tensor_map_t {
    unsigned long long opaque[16];
};

enum tensor_map_swizzle { SWIZZLE_NONE = 0, SWIZZLE_32 = 1, SWIZZLE_64 = 2, SWIZZLE_128 = 3 };  // span in bytes
enum tensor_map_l2 { L2_NONE = 0, L2_64 = 1, L2_128 = 2, L2_256 = 3 };  // bytes that a miss in the L2 fetches

// The innermost dimension comes first, as in coordinates of a tile; there are as many as sizes are given.
struct described_tensor_map {
    char array[64];               // its name in workload.json, with its element type
    described_text<64> sizes[5];   // elements
    described_text<32> box[5];     // of a tile, elements: at most 256
    unsigned swizzle;             // tensor_map_swizzle
    unsigned l2;                  // tensor_map_l2
    described_text<64> strides[4]; // elements from one to the next, of the second dimension first; not given: dense
    described_text<16> steps[5];   // a tile has every such element; not given: 1
};
static_assert(sizeof(described_tensor_map) == 888, "texts as in tensor_maps.h, without a byte more");

// All maps of the rung, before its kernels:   TENSOR_MAPS = {{"x", {"cols", "rows"}, {64, 32}, SWIZZLE_128}};
#define TENSOR_MAPS extern "C" __device__ const described_tensor_map tensor_maps[]

__host__ __device__ constexpr unsigned names_in(const char *list) {
    unsigned names = 1;
    for (; *list != '\0'; list++)
        names += *list == ',';
    return names;
}

// A kernel with launch bounds in parentheses, and a name for each map, in order:
//   TMA_KERNEL(transpose, (256), MAP(from), MAP(to)) { … }
#define MAP(name) const __grid_constant__ tensor_map_t name
#define TMA_KERNEL(name, bounds, ...)                                                                                  \
    static_assert(sizeof tensor_maps == names_in(#__VA_ARGS__) * sizeof(described_tensor_map),                          \
                  "a MAP() for each of TENSOR_MAPS");                                                                  \
    extern "C" __global__ void __launch_bounds__ bounds name(KERNEL_ARGUMENTS, __VA_ARGS__)
