// kernels/common/ptx.cuh on the host. A copy takes effect when its group is waited for: what is used too early is not
// there yet.
#pragma once
#include "host_cuda.h"

#include <mutex>

// Addresses are the lower half of the host's.
static thread_local uintptr_t high_half;

inline unsigned shared_address(const void *pointer) {
    high_half = (uintptr_t)pointer >> 32;
    return (unsigned)(uintptr_t)pointer;
}
inline char *from_shared(unsigned address) {
    return (char *)(high_half << 32 | address);
}

// Both wait for the whole warp, as on a GPU: a thread that asks alone waits for ever.
inline unsigned warp_number() {
    return __shfl_sync(~0u, running / 32, 0);
}
inline bool is_elected() {
    __syncwarp();
    return running % 32 == 0;
}
static thread_local meeting_t numbered_meetings[16];
inline void sync_threads(unsigned number, unsigned threads) {
    meet(numbered_meetings[number], [&] { return threads; });
}

struct copy_t {
    unsigned to;
    uint4 value;
};
static thread_local std::vector<std::vector<std::vector<copy_t>>> copy_groups;

inline std::vector<std::vector<copy_t>> &own_groups() {
    copy_groups.resize(fibers->size());
    std::vector<std::vector<copy_t>> &own = copy_groups[running];
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

// ---- kernels that overlap ---------------------------------------------------------------------

inline void start_next_kernel() {}
inline void wait_for_previous_kernel() {}
inline void wait_for_earlier_kernels() {}

// ---- clusters ---------------------------------------------------------------------------------

// A remote address is a block's number, four bits, and an offset from its dynamic shared memory, which may be negative:
// other shared memory lies as far from it in all blocks.
static constexpr unsigned REMOTE_ZERO = 1u << 27;

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
    const unsigned offset = (unsigned)(from_shared(address) - (char *)dynamic_shared) + REMOTE_ZERO;
    return block << 28 | (offset & 0x0FFFFFFF);
}
inline char *from_remote(unsigned remote) {
    return cluster->of_block[remote >> 28] + (int)((remote & 0x0FFFFFFF) - REMOTE_ZERO);
}
inline void store_in(unsigned remote, float value) {
    memcpy(from_remote(remote), &value, sizeof value);
}

// ---- barriers that count arrivals and bytes ---------------------------------------------------

struct barrier_t {
    int32_t bytes;  // announced and not arrived; may be negative
    uint8_t left, all;
    uint16_t phase;
};
static std::mutex barriers_lock;

inline void barrier_count(char *at, int32_t bytes, unsigned arrivals) {
    const std::lock_guard<std::mutex> lock(barriers_lock);
    barrier_t *barrier = (barrier_t *)at;
    barrier->bytes += bytes;
    barrier->left -= arrivals;
    if (barrier->bytes == 0 && barrier->left == 0)
        *barrier = {0, barrier->all, barrier->all, (uint16_t)(barrier->phase + 1)};
}
inline void barrier_init(unsigned barrier, unsigned arrivals = 1) {
    *(barrier_t *)from_shared(barrier) = {0, (uint8_t)arrivals, (uint8_t)arrivals, 0};
}
inline void barrier_arrive(unsigned barrier) {
    barrier_count(from_shared(barrier), 0, 1);
}
inline void barrier_expect(unsigned barrier, unsigned bytes) {
    barrier_count(from_shared(barrier), (int32_t)bytes, 1);
}

inline void barrier_arrive_in(unsigned remote) {
    barrier_count(from_remote(remote), 0, 1);
}
template <class Value> void send_to(unsigned remote, Value value, unsigned barrier) {
    memcpy(from_remote(remote), &value, sizeof value);
    barrier_count(from_remote(barrier), -(int32_t)sizeof value, 0);
}

inline void send_bulk(unsigned remote, unsigned from, unsigned bytes, unsigned barrier) {
    if (remote % 16 != 0 || from % 16 != 0 || bytes % 16 != 0)
        abort();
    memcpy(from_remote(remote), from_shared(from), bytes);
    barrier_count(from_remote(barrier), -(int32_t)bytes, 0);
}

// Bulk copies of a block take their time, each its own: they end while threads wait, and in any order. Half of them read
// at once, half at their end.
struct bulk_copy_t {
    unsigned to;
    const void *from;
    unsigned bytes, barrier, polls;
    std::vector<char> early;
    unsigned swizzle;  // of a tile (tma.cuh)
};
struct bulk_copies_t : std::vector<bulk_copy_t> {
    ~bulk_copies_t() {
        if (!empty())
            give_up("a block ends before all that it loads is there");
    }
};
static thread_local bulk_copies_t bulk_copies;
static thread_local unsigned copy_dice = 1;

inline unsigned emulated_polls() {
    copy_dice = copy_dice * 1664525 + 1013904223;
    return copy_dice % (copy_dice >> 8 & 15 ? 2000 : 400000);  // some much longer
}
inline void copy_bulk(unsigned to, const void *from, unsigned bytes, unsigned barrier) {
    if (to % 16 != 0 || (uintptr_t)from % 16 != 0 || bytes % 16 != 0)
        abort();
    bulk_copies.push_back({to, from, bytes, barrier, emulated_polls(), {}, 0});
    if (copy_dice >> 12 & 1)
        bulk_copies.back().early.assign((const char *)from, (const char *)from + bytes);
}
inline void emulated_tile_copy(unsigned to, const std::vector<char> &tile, unsigned swizzle, unsigned barrier) {
    bulk_copies.push_back({to, nullptr, (unsigned)tile.size(), barrier, emulated_polls(), tile, swizzle});
}
// Where the byte of an address stands in a swizzled tile: 0 is not swizzled, 3 has a span of 128 bytes.
inline unsigned emulated_place(unsigned address, unsigned swizzle) {
    return address ^ (address >> 7 & ((1u << swizzle) - 1)) << 4;
}
inline void end_bulk_copies() {
    for (size_t i = 0; i < bulk_copies.size();) {
        if (bulk_copies[i].polls > 0) {
            bulk_copies[i++].polls--;
            continue;
        }
        const bulk_copy_t copy = bulk_copies[i];
        bulk_copies.erase(bulk_copies.begin() + i);
        const char *from = copy.early.empty() ? (const char *)copy.from : copy.early.data();
        const unsigned each = copy.swizzle > 0 ? 16 : copy.bytes;
        for (unsigned at = 0; at < copy.bytes; at += each)
            memcpy(from_shared(emulated_place(copy.to + at, copy.swizzle)), from + at, each);
        barrier_count(from_shared(copy.barrier), -(int32_t)copy.bytes, 0);
    }
}

inline void barrier_wait(unsigned barrier, unsigned parity) {
    for (;;) {
        end_bulk_copies();
        {
            const std::lock_guard<std::mutex> lock(barriers_lock);
            if (((barrier_t *)from_shared(barrier))->phase % 2 != parity)
                return;
        }
        let_others_run();
    }
}
