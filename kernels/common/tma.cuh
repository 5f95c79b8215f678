// Tiles copied by TMA: the tensor map says which part of an array (tensor_maps.cuh), coordinates count its elements from
// the innermost dimension on. Elements outside of the array are loaded as zeros and not stored. Tiles in shared memory
// begin at a multiple of 128 bytes. Swizzled, the 16 bytes at address a stand at a ^ (a >> 7 & 7) << 4 (SWIZZLE_128; & 3
// with 64, & 1 with 32): the addresses of a tile at a multiple of 1024 bytes do not depend on where it is.
#pragma once
#include "ptx.cuh"
#include "tensor_maps.cuh"

#if __CUDA_ARCH__ >= 900
// To shared memory, by one thread; `barrier` (ptx.cuh) counts the bytes of a whole box.
__device__ __forceinline__ void load_tile(unsigned to, const tensor_map_t &map, unsigned barrier, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(&map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}
__device__ __forceinline__ void load_tile(unsigned to, const tensor_map_t &map, unsigned barrier, int x, int y, int z) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
                 "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier)
                 : "memory");
}

// To the same place in each block of the cluster whose bit is set; the barriers of all these blocks count the bytes.
__device__ __forceinline__ void load_tile_to(unsigned short blocks, unsigned to, const tensor_map_t &map, unsigned barrier,
                                             int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
                 "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(blocks)
                 : "memory");
}

// So that the first copy need not wait for the map.
__device__ __forceinline__ void prefetch_map(const tensor_map_t &map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Writes of this thread to shared memory, a new barrier too, are visible to TMA: to copies of this thread, and after the
// block's next barrier to those of others.
__device__ __forceinline__ void show_to_tma() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// From shared memory, by one thread, as part of its next group.
__device__ __forceinline__ void store_tile(const tensor_map_t &map, unsigned from, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
                 "r"(from), "r"(x), "r"(y)
                 : "memory");
}
__device__ __forceinline__ void store_tile(const tensor_map_t &map, unsigned from, int x, int y, int z) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
                 "r"(from), "r"(x), "r"(y), "r"(z)
                 : "memory");
}
__device__ __forceinline__ void end_store_group() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Waits until all groups of this thread except the last LEFT have read shared memory, which can then be written, or no
// longer be there. What they store is visible to the next kernel.
template <unsigned LEFT> __device__ __forceinline__ void wait_for_stores() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}
#endif
