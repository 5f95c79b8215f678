// Blocks, tiles of a warp, and the grid of a cooperative launch.
#pragma once

namespace cooperative_groups {

struct thread_block {
    static void sync() { __syncthreads(); }
    static unsigned thread_rank() { return running; }
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
};
inline thread_block this_thread_block() {
    return {};
}

struct grid_group {
    static bool is_valid() { return grid != nullptr; }
    static void sync() { meet_grid(); }
    static unsigned long long size() { return (unsigned long long)product(gridDim) * thread_block::size(); }
    static unsigned long long num_threads() { return size(); }
    static unsigned long long thread_rank() {
        const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        return (unsigned long long)block * thread_block::size() + running;
    }
};
inline grid_group this_grid() {
    return {};
}

template <unsigned SIZE> struct thread_block_tile {
    static_assert(SIZE <= 32 && (SIZE & (SIZE - 1)) == 0, "tiles of a warp");

    static unsigned thread_rank() { return running % SIZE; }
    static unsigned size() { return SIZE; }
    static unsigned num_threads() { return SIZE; }
    static unsigned meta_group_rank() { return running / SIZE; }
    static unsigned meta_group_size() { return (thread_block::size() + SIZE - 1) / SIZE; }
    static unsigned mask() { return (unsigned)((1ull << SIZE) - 1) << running % 32 / SIZE * SIZE; }
    static void sync() { __syncwarp(mask()); }
    template <class Value> static Value shfl(Value value, int lane) { return __shfl_sync(mask(), value, lane, SIZE); }
    template <class Value> static Value shfl_up(Value value, unsigned lanes) {
        return __shfl_up_sync(mask(), value, lanes, SIZE);
    }
    template <class Value> static Value shfl_down(Value value, unsigned lanes) {
        return __shfl_down_sync(mask(), value, lanes, SIZE);
    }
    template <class Value> static Value shfl_xor(Value value, unsigned lanes) {
        return __shfl_xor_sync(mask(), value, lanes, SIZE);
    }
    static int any(int holds) { return __any_sync(mask(), holds); }
    static int all(int holds) { return __all_sync(mask(), holds); }
    static unsigned ballot(int holds) { return __ballot_sync(mask(), holds) >> running % 32 / SIZE * SIZE; }
};
template <unsigned SIZE, class Parent> thread_block_tile<SIZE> tiled_partition(const Parent &) {
    return {};
}
template <class Group> void sync(const Group &group) {
    group.sync();
}

template <class Value> struct plus {
    Value operator()(Value a, Value b) const { return a + b; }
};
template <class Value> struct less {
    Value operator()(Value a, Value b) const { return b < a ? b : a; }
};
template <class Value> struct greater {
    Value operator()(Value a, Value b) const { return a < b ? b : a; }
};
template <unsigned SIZE, class Value, class Combine>
Value reduce(const thread_block_tile<SIZE> &tile, Value value, Combine combine) {
    return combined(tile.mask(), value, combine);
}

} // namespace cooperative_groups
