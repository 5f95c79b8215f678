// kernels/common/ptx.cuh on the host. A copy takes effect when its group is waited for: what is used too early is not
// there yet.
#pragma once
#include "host_cuda.h"

// Addresses are the lower half of the host's.
static thread_local uintptr_t high_half;

inline unsigned shared_address(const void *pointer) {
    high_half = (uintptr_t)pointer >> 32;
    return (unsigned)(uintptr_t)pointer;
}
inline char *from_shared(unsigned address) {
    return (char *)(high_half << 32 | address);
}

struct copy_t {
    unsigned to;
    uint4 value;
};
static thread_local std::vector<std::vector<std::vector<copy_t>>> copy_groups;

inline std::vector<std::vector<copy_t>> &own_groups() {
    copy_groups.resize(blockDim.x);
    std::vector<std::vector<copy_t>> &own = copy_groups[threadIdx.x];
    if (own.empty())
        own.emplace_back();
    return own;
}
inline void copy_16_async(unsigned to, const void *from, bool valid) {
    if (to % 16 != 0 || (uintptr_t)from % 16 != 0)
        abort();
    own_groups().back().push_back({to, valid ? *(const uint4 *)from : uint4{0, 0, 0, 0}});
}
inline void end_copy_group() {
    own_groups().emplace_back();
}
template <unsigned LEFT> void wait_for_copies() {
    std::vector<std::vector<copy_t>> &groups = own_groups();
    while (groups.size() - 1 > LEFT) {
        for (const copy_t &copy : groups.front())
            memcpy(from_shared(copy.to), &copy.value, 16);
        groups.erase(groups.begin());
    }
}

// ---- clusters ---------------------------------------------------------------------------------

// The lower half of an offset from the other block's memory; store_in() is for float only.
static thread_local unsigned remote_block;

inline unsigned block_in_cluster() {
    return rank_in_cluster;
}
inline void cluster_arrive_started() {
    cluster->arrived++;
}
inline void cluster_wait_started() {
    const unsigned all = cluster->threads;
    while (cluster->arrived < all)
        let_others_run();
}
inline void cluster_barrier() {
    const unsigned all = cluster->threads, until = (cluster->arrived++ / all + 1) * all;
    while (cluster->arrived < until)
        let_others_run();
}
inline unsigned address_in(unsigned block, unsigned address) {
    remote_block = block;
    return address;
}
inline void store_in(unsigned remote, float value) {
    const ptrdiff_t offset = from_shared(remote) - (char *)dynamic_shared;
    memcpy(cluster->of_block[remote_block] + offset, &value, sizeof value);
}
