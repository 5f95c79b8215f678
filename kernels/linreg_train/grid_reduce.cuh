// How rung 06 reduces its sums at the end of an epoch: within a block, a cluster or the grid. Every thread gets
// identical totals. Buffers alternate between epochs: one is reused only after the epoch in between, which no block
// finishes before reading it.
#pragma once
#include "common/ptx.cuh"
#include "common/relaxed.cuh"

typedef error_sums<float> sums_t;

// Sums of warps and groups of a block, and of the blocks of a cluster.
struct partial_sums_t {
    float4 of_warp[2][WARPS], of_group[MAX_BLOCKS / 32], of_block[2][CLUSTER_BLOCKS];
    unsigned long long arrived[2];
};

__device__ __forceinline__ sums_t operator+(sums_t a, sums_t b) {
    return {a.e + b.e, a.ex + b.ex, a.ee + b.ee};
}

__device__ __forceinline__ float4 pack(sums_t sums) {
    return make_float4(sums.e, sums.ex, sums.ee, 0);
}

__device__ __forceinline__ sums_t unpack(float4 packed) {
    return {packed.x, packed.y, packed.z};
}

// Sums over groups of LANES lanes, in each lane.
template <bool LOSS, unsigned LANES> __device__ __forceinline__ sums_t lane_sums(sums_t sums) {
#pragma unroll
    for (unsigned lanes = LANES / 2; lanes > 0; lanes /= 2) {
        sums.e += __shfl_xor_sync(EVERY_LANE, sums.e, lanes);
        sums.ex += __shfl_xor_sync(EVERY_LANE, sums.ex, lanes);
        if (LOSS)
            sums.ee += __shfl_xor_sync(EVERY_LANE, sums.ee, lanes);
    }
    return sums;
}

template <unsigned N> __device__ __forceinline__ sums_t add_partial_sums(const float4 (&of)[N], unsigned n) {
    sums_t sums = unpack(of[0]);
#pragma unroll
    for (unsigned k = 1; k < N; k++)
        if (k < n)
            sums = sums + unpack(of[k]);
    return sums;
}

// The sums of each warp, visible to the block.
template <bool LOSS> __device__ __forceinline__ void sum_warps(sums_t sums, float4 (&of_warp)[WARPS]) {
    sums = lane_sums<LOSS, 32>(sums);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = pack(sums);
    __syncthreads();
}

#if ALONE || CLUSTER
__device__ __forceinline__ unsigned first_reduce_tag() {
    return 0;
}
__device__ __forceinline__ void save_reduce_tag(unsigned) {}
#endif

#if ALONE
template <bool LOSS>
__device__ __forceinline__ sums_t all_sums(sums_t sums, unsigned, unsigned tag, partial_sums_t &partial) {
    sum_warps<LOSS>(sums, partial.of_warp[tag % 2]);
    return add_partial_sums(partial.of_warp[tag % 2], WARPS);
}

#elif CLUSTER
__device__ __forceinline__ void prepare_grid_reduce(partial_sums_t &partial) {
    if (threadIdx.x < 2)
        barrier_init(shared_address(partial.arrived + threadIdx.x));
    cluster_barrier();
}

// The first warp sends the block's sums to the shared memory of every block, where a barrier counts the bytes
// (st.async): one way through the cluster network, no acknowledgement.
template <bool LOSS>
__device__ __forceinline__ sums_t all_sums(sums_t sums, unsigned, unsigned tag, partial_sums_t &partial) {
    const unsigned lane = threadIdx.x % 32;
    float4(&of_warp)[WARPS] = partial.of_warp[tag % 2], (&of_block)[BLOCKS] = partial.of_block[tag % 2];
    const unsigned arrived = shared_address(partial.arrived + tag % 2);
    sum_warps<LOSS>(sums, of_warp);
    if (threadIdx.x < 32) {
        sums = lane_sums<LOSS, WARPS>(unpack(of_warp[lane % WARPS]));
        if (lane == 0)
            barrier_expect(arrived, sizeof of_block);
        if (lane < BLOCKS)
            send_to(address_in(lane, shared_address(of_block + blockIdx.x)),
                    make_float4(sums.e, sums.ex, sums.ee, sums.ee), address_in(lane, arrived));
    }
    barrier_wait(arrived, tag / 2 % 2);
    return lane_sums<LOSS, BLOCKS>(unpack(of_block[lane % BLOCKS]));
}

#else
// An 8-byte word, read and written atomically, holds a sum and a tag: the number of the epoch since the module was
// loaded. The tag shows whether the word is current, so it is data and barrier in one: no flag, fence, atomic or
// clearing. With many blocks there are several copies, to spread the load over the L2.
typedef unsigned long long word_t;
constexpr unsigned COPIES = 8, FEW_BLOCKS = 32;
__device__ ulonglong2 words[2][COPIES][MAX_BLOCKS];
__device__ word_t loss_words[2][COPIES][MAX_BLOCKS];
__device__ unsigned previous_epochs;  // since the module was loaded

__device__ __forceinline__ unsigned first_reduce_tag() {
    return __ldcg(&previous_epochs) + 1;
}

// By one thread, after the last epoch: by then all blocks have read it.
__device__ __forceinline__ void save_reduce_tag(unsigned tag) {
    previous_epochs = tag - 1;
}

__device__ __forceinline__ word_t word_of(float value, unsigned epoch) {
    return (word_t)epoch << 32 | __float_as_uint(value);
}

__device__ __forceinline__ bool has_tag(word_t word, float &value, unsigned epoch) {
    value = __uint_as_float((unsigned)word);
    return (unsigned)(word >> 32) == epoch;
}

__device__ __forceinline__ unsigned copies_for(unsigned blocks) {
    return blocks > FEW_BLOCKS ? COPIES : 1;
}

template <bool LOSS> __device__ __forceinline__ sums_t load_block_sums(unsigned block, unsigned tag) {
    const ulonglong2 *place = &words[tag % 2][blockIdx.x % copies_for(gridDim.x)][block];
    const word_t *loss_place = &loss_words[tag % 2][blockIdx.x % copies_for(gridDim.x)][block];
    sums_t sums = {0, 0, 0};
    ulonglong2 both; // Σe, Σex
    word_t ee;
    do
        both = load_relaxed(place);
    while (!has_tag(both.x, sums.e, tag) || !has_tag(both.y, sums.ex, tag));
    if (LOSS)
        do
            ee = load_relaxed(loss_place);
        while (!has_tag(ee, sums.ee, tag));
    return sums;
}

template <bool LOSS>
__device__ __forceinline__ sums_t all_sums(sums_t sums, unsigned blocks, unsigned tag, partial_sums_t &partial) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, groups = (blocks + 31) / 32;
    float4(&of_warp)[WARPS] = partial.of_warp[tag % 2];
    sum_warps<LOSS>(sums, of_warp);
    if (warp == 0) {
        sums = lane_sums<LOSS, WARPS>(unpack(of_warp[lane % WARPS]));
        if (lane < copies_for(blocks)) {
            store_relaxed(&words[tag % 2][lane][blockIdx.x],
                          make_ulonglong2(word_of(sums.e, tag), word_of(sums.ex, tag)));
            if (LOSS)
                store_relaxed(&loss_words[tag % 2][lane][blockIdx.x], word_of(sums.ee, tag));
        }
    }
    if (warp < groups) {
        sums = {0, 0, 0};
        if (threadIdx.x < blocks)
            sums = load_block_sums<LOSS>(threadIdx.x, tag);
        __syncwarp();
        sums = lane_sums<LOSS, 32>(sums);
        if (lane == 0)
            partial.of_group[warp] = pack(sums);
    }
    __syncthreads();
    return add_partial_sums(partial.of_group, groups);
}
#endif
