// How the blocks of rung 06 exchange matrices of 32 images between clusters: through the L2, where each word shows by one
// bit whether it is of this step: the sign of activations, which are never negative, or the last bit of a partial sum.
// So nothing is cleared or fenced.
//
// Nothing is acknowledged either. A block's activations of the next step overwrite these only after it received, in
// this step's backward pass, a sum from each block that reads them; and a sum is overwritten only after its reader's
// next activations have arrived.
#pragma once

enum cluster_exchange { SUMS_0, SUMS_1, SUMS_2, LOGITS, DELTA_1, DELTA_0, CLUSTER_EXCHANGES };

// Written by the block that computes them; word by word, a block's columns of each image.
__device__ uint4 activations[3][BLOCKS][ROWS * OWN / 8];
// Of deltas 0 and 1: a block's columns, from each cluster, summed over the neurons of that cluster.
__device__ uint4 partial_sums[2][BLOCKS][CLUSTERS][ROWS * OWN / 4];

constexpr unsigned SIGNS = 0x80008000;

__device__ __forceinline__ unsigned cluster_of() {
    return blockIdx.x / RANKS;
}
__device__ __forceinline__ unsigned rank_of() {
    return blockIdx.x % RANKS;
}

__device__ __forceinline__ unsigned with_sign(unsigned activations, unsigned step) {
    return (activations & ~SIGNS) | (step % 2 == 0 ? 0 : SIGNS);
}
__device__ __forceinline__ bool are_activations_of(const common_bits_t &words, unsigned step) {
    return words.are(SIGNS, step % 2 != 0);
}
__device__ __forceinline__ uint4 with_last_bits(float4 v, unsigned step) {
    return make_uint4(with_last_bit(v.x, step), with_last_bit(v.y, step), with_last_bit(v.z, step),
                      with_last_bit(v.w, step));
}
// Loads N vectors, load(k) each, until arrived(the bits of all words).
template <unsigned N, class Vector, class Load, class Arrived>
__device__ __forceinline__ void poll(Vector (&v)[N], Load load, Arrived arrived) {
    for (;;) {
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            v[k] = load(k);
        common_bits_t words(v[N - 1].x);
#pragma unroll
        for (unsigned k = N; k-- > 0;)
            words.add(v[k]);
        if (arrived(words))
            return;
    }
}

// A thread's pairs of a block's (32, OWN) results: GROUPS neighbouring lanes add the sums of one pair.
constexpr unsigned ALL_PAIRS = ROWS * OWN / 2, GROUPS = ALL_PAIRS < THREADS ? THREADS / ALL_PAIRS : 1;
constexpr unsigned PAIRS = ALL_PAIRS * GROUPS / THREADS;
static_assert(RANKS % GROUPS == 0 && CLUSTERS % GROUPS == 0, "lanes add equally many sums");

__device__ __forceinline__ unsigned row_of_pair(unsigned pair) {
    return (pair * THREADS + threadIdx.x) / GROUPS / (OWN / 2);
}
__device__ __forceinline__ unsigned column_of_pair(unsigned pair) {
    return (pair * THREADS + threadIdx.x) / GROUPS % (OWN / 2) * 2;
}

// The sum of N pairs; this lane gives every GROUPS-th.
template <unsigned N> __device__ __forceinline__ float2 sum_of_lanes(const float2 (&parts)[N]) {
    float2 sums = parts[0];
#pragma unroll
    for (unsigned i = 1; i < N; i++)
        sums = make_float2(sums.x + parts[i].x, sums.y + parts[i].y);
    return make_float2(sum_over_lanes<GROUPS>(sums.x), sum_over_lanes<GROUPS>(sums.y));
}

// Pairs from + i * stride, once they are of this step.
template <unsigned N>
__device__ __forceinline__ void poll_sums(float2 (&parts)[N], const uint2 *from, unsigned stride, unsigned step) {
    uint2 words[N];
    poll(
        words, [&](unsigned i) { return load_relaxed(from + i * stride); },
        [&](const common_bits_t &of) { return of.are(1, step % 2 != 0); });
    __syncwarp();
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        parts[i] = make_float2(__uint_as_float(words[i].x), __uint_as_float(words[i].y));
}

// The sum of N pairs, by the lanes that share it.
template <unsigned N>
__device__ __forceinline__ float2 polled_sum(const uint2 *from, unsigned stride, unsigned step) {
    float2 parts[N / GROUPS];
    poll_sums(parts, from + threadIdx.x % GROUPS * stride, GROUPS * stride, step);
    return sum_of_lanes(parts);
}

// Four neighbouring columns of one row, from a tile of sums: lanes with even numbers get the upper row.
__device__ __forceinline__ float4 four_columns(const tile_t &sums) {
    const bool lower = threadIdx.x % 2 != 0;
    const float2 own = lower ? sums.lower() : sums.upper(), other = lower ? sums.upper() : sums.lower();
    const float2 got = make_float2(__shfl_xor_sync(EVERY_LANE, other.x, 1), __shfl_xor_sync(EVERY_LANE, other.y, 1));
    return lower ? make_float4(got.x, got.y, own.x, own.y) : make_float4(own.x, own.y, got.x, got.y);
}
__device__ __forceinline__ unsigned row_of_four() {
    return lane_of() / 4 + lane_of() % 2 * 8;
}
__device__ __forceinline__ unsigned column_of_four() {
    return lane_of() % 4 / 2 * 4;
}

// ---- between clusters -------------------------------------------------------------------------------------------

// Marks all words as those of another step than the first, then waits for all blocks, whose cluster_begin() is done.
__device__ __forceinline__ void grid_begin(const mnist_t &p) {
    for (unsigned i = threadIdx.x; i < 3 * ROWS * OWN / 8; i += THREADS)
        store_relaxed(&activations[i / (ROWS * OWN / 8)][blockIdx.x][i % (ROWS * OWN / 8)],
                      make_uint4(SIGNS, SIGNS, SIGNS, SIGNS));
    for (unsigned i = threadIdx.x; i < 2 * CLUSTERS * ROWS * OWN / 4; i += THREADS)
        store_relaxed(&partial_sums[i / (CLUSTERS * ROWS * OWN / 4)][blockIdx.x][0][0] +
                          i % (CLUSTERS * ROWS * OWN / 4),
                      make_uint4(1, 1, 1, 1));
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned *arrivals = p.counters + 48;  // 0 before each training
        atomicAdd(arrivals, 1);
        while (load_relaxed(arrivals) < BLOCKS)
            ;
        __threadfence();
    }
    __syncthreads();
}

__device__ __forceinline__ void share_activations(unsigned layer, unsigned step, unsigned pair, half2 value) {
    unsigned *to = (unsigned *)activations[layer][blockIdx.x];
    if (threadIdx.x % GROUPS == 0)
        store_relaxed(to + (row_of_pair(pair) * OWN + column_of_pair(pair)) / 2,
                      with_sign(*(const unsigned *)&value, step));
}

// The activations of layer `layer` that are this rank's inputs. `before` is called between polling and storing.
template <class Before>
__device__ __forceinline__ void receive_activations(share_rows_t &to, unsigned layer, unsigned step, Before before) {
    constexpr unsigned OF_BLOCK = ROWS * OWN / 8, N = CLUSTERS * OF_BLOCK / THREADS;
    const uint4 *from = activations[layer][rank_of() * CLUSTERS];
    uint4 v[N];
    poll(
        v, [&](unsigned k) { return load_relaxed(from + k * THREADS + threadIdx.x); },
        [&](const common_bits_t &words) { return are_activations_of(words, step); });
    before();
#pragma unroll
    for (unsigned k = 0; k < N; k++) {
        const unsigned i = k * THREADS + threadIdx.x, of_block = i % OF_BLOCK;
        const unsigned row = of_block / (OWN / 8), chunk = i / OF_BLOCK * (OWN / 8) + of_block % (OWN / 8);
        *(uint4 *)&to[row][(chunk ^ row % 8) * 8] =
            make_uint4(v[k].x & ~SIGNS, v[k].y & ~SIGNS, v[k].z & ~SIGNS, v[k].w & ~SIGNS);
    }
    __syncthreads();
}

// Activations 3 of 16 of the cluster's neurons from `column`, as words of 8 x 8 matrices: [8 images][8 neurons].
__device__ __forceinline__ void receive_panel(unsigned (&words)[4][2], unsigned step, unsigned column) {
    const auto load = [&](unsigned i, unsigned h) {
        const unsigned row = i * 8 + lane_of() / 4, own = column + h * 8 + lane_of() % 4 * 2;
        const unsigned *from = (const unsigned *)activations[2][cluster_of() * RANKS + own / OWN];
        return load_relaxed(from + (row * OWN + own % OWN) / 2);
    };
    uint2 v[4];
    poll(
        v, [&](unsigned i) { return make_uint2(load(i, 0), load(i, 1)); },
        [&](const common_bits_t &of) { return are_activations_of(of, step); });
#pragma unroll
    for (unsigned i = 0; i < 4; i++)
        words[i][0] = v[i].x & ~SIGNS, words[i][1] = v[i].y & ~SIGNS;
    __syncwarp();
}

// A tile of sums, for 16 images from `row` and 8 of this rank's inputs from `column`, to the block that owns those.
__device__ __forceinline__ void share_sums(unsigned layer, unsigned step, unsigned row, unsigned column,
                                           const tile_t &sums) {
    const float4 v = four_columns(sums);
    row += row_of_four(), column += column_of_four();
    uint4 *to = partial_sums[layer][rank_of() * CLUSTERS + column / OWN][cluster_of()];
    store_relaxed(to + (row * OWN + column % OWN) / 4, with_last_bits(v, step));
}

// A thread's pair of columns, summed over the clusters.
__device__ __forceinline__ float2 shared_sum(unsigned layer, unsigned step, unsigned pair) {
    const unsigned place = (row_of_pair(pair) * OWN + column_of_pair(pair)) / 2;
    return polled_sum<CLUSTERS>((const uint2 *)partial_sums[layer][blockIdx.x][0] + place, ROWS * OWN / 2, step);
}

#if CLUSTERED
#include "on_chip_cluster.cuh"
#else
#include "on_chip_group.cuh"
#endif
