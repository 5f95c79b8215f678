// The functions of on_chip_cluster.cuh for ranks that are no cluster: through the L2, as between clusters. 16 clusters of
// 8 do not fit on every GPU of 132 multiprocessors. A word of a delta is its half and, above it, the bit of its step.
#pragma once

__device__ uint4 group_sums[3][BLOCKS][RANKS][ROWS * OWN / 4], group_deltas[2][BLOCKS][ROWS * OWN / 4];
__device__ uint2 group_logits[BLOCKS][ROWS][PADDED_CLASSES / 2];

constexpr unsigned STEP_BIT = 1 << 16;

// Words of another step than the first; before a barrier of the grid.
__device__ __forceinline__ void cluster_begin(shared_t &) {
    constexpr unsigned SUMS = RANKS * ROWS * OWN / 4, DELTAS = ROWS * OWN / 4, PAIRS_OF_CLASSES = PADDED_CLASSES / 2;
    for (unsigned i = threadIdx.x; i < 3 * SUMS; i += THREADS)
        store_relaxed(&group_sums[i / SUMS][blockIdx.x][0][0] + i % SUMS, make_uint4(1, 1, 1, 1));
    for (unsigned i = threadIdx.x; i < 2 * DELTAS; i += THREADS)
        store_relaxed(&group_deltas[i / DELTAS][blockIdx.x][i % DELTAS],
                      make_uint4(STEP_BIT, STEP_BIT, STEP_BIT, STEP_BIT));
    for (unsigned i = threadIdx.x; i < 2 * ROWS * PAIRS_OF_CLASSES; i += THREADS)
        store_relaxed(&group_logits[blockIdx.x][0][0].x + i, 1);
}

__device__ __forceinline__ void cluster_end() {}
__device__ __forceinline__ void cluster_expect(shared_t &) {}
__device__ __forceinline__ void cluster_wait(shared_t &, cluster_exchange, unsigned) {}

__device__ __forceinline__ void send_sums(shared_t &, cluster_exchange layer, unsigned step, unsigned row,
                                          unsigned column, const tile_t &sums) {
    const float4 v = four_columns(sums);
    row += row_of_four(), column += column_of_four();
    store_relaxed(group_sums[layer][cluster_of() * RANKS + column / OWN][rank_of()] + (row * OWN + column % OWN) / 4,
                  with_last_bits(v, step));
}

__device__ __forceinline__ float2 received_sum(const shared_t &, cluster_exchange layer, unsigned step, unsigned pair) {
    constexpr unsigned OF_RANK = ROWS * OWN / 2;
    return polled_sum<RANKS>((const uint2 *)group_sums[layer][blockIdx.x][0] +
                                 (row_of_pair(pair) * OWN + column_of_pair(pair)) / 2,
                             OF_RANK, step);
}

__device__ __forceinline__ void send_logits(shared_t &, unsigned step, unsigned row, unsigned k, float2 sum) {
    unsigned *to = &group_logits[blockIdx.x][row][k / 2].x;
    store_relaxed(to, with_last_bit(sum.x, step));
    store_relaxed(to + 1, with_last_bit(sum.y, step));
}

__device__ __forceinline__ float2 received_logits(const shared_t &, unsigned step, unsigned row, unsigned k) {
    const uint2 *from = &group_logits[cluster_of() * RANKS][row][k / 2];
    float2 parts[RANKS];
    poll_sums(parts, from, ROWS * PADDED_CLASSES / 2, step);
    float2 sums = parts[0];
#pragma unroll
    for (unsigned rank = 1; rank < RANKS; rank++)
        sums = make_float2(sums.x + parts[rank].x, sums.y + parts[rank].y);
    return sums;
}

__device__ __forceinline__ void send_deltas(shared_t &, cluster_exchange matrix, unsigned step, unsigned pair,
                                            half2 delta) {
    const unsigned word = *(const unsigned *)&delta, bit = step % 2 * STEP_BIT;
    unsigned *to = (unsigned *)group_deltas[matrix == DELTA_1][blockIdx.x] +
                   row_of_pair(pair) * OWN + column_of_pair(pair);
    if (threadIdx.x % GROUPS != 0)
        return;
    store_relaxed(to, (word & 0xFFFF) | bit);
    store_relaxed(to + 1, word >> 16 | bit);
}

// The panel's deltas; then a barrier of the block.
__device__ __forceinline__ void receive_deltas(shared_t &shared, cluster_exchange matrix, unsigned step) {
    constexpr unsigned OF_BLOCK = ROWS * OWN / 4, N = RANKS * OF_BLOCK / THREADS;
    const uint4 *from = group_deltas[matrix == DELTA_1][cluster_of() * RANKS];
    uint4 v[N];
    poll(
        v, [&](unsigned k) { return load_relaxed(from + k * THREADS + threadIdx.x); },
        [&](const common_bits_t &words) { return words.are(STEP_BIT, step % 2 != 0); });
#pragma unroll
    for (unsigned k = 0; k < N; k++) {
        const unsigned i = k * THREADS + threadIdx.x, row = i % OF_BLOCK / (OWN / 4);
        const unsigned column = i / OF_BLOCK * OWN + i % (OWN / 4) * 4;
        *(uint2 *)&shared.delta[matrix == DELTA_1][row][(column / 8 ^ row % 8) * 8 + column % 8] =
            make_uint2((v[k].x & 0xFFFF) | v[k].y << 16, (v[k].z & 0xFFFF) | v[k].w << 16);
    }
    __syncthreads();
}
