// How the ranks of a cluster exchange sums and deltas in rung 06: by asynchronous stores to distributed shared memory,
// which the receiver's barrier counts. on_chip_group.cuh has the same functions for blocks that are no cluster.
//
// Nothing is acknowledged: a matrix is sent to a place only after one that its owner sent later than its last use:
//   sums[0]   layers 0 and 2, then this block's activations 3    sums[1]   layer 1, then the logits
//   delta[0]  delta 2, then delta 0                              delta[1]  delta 1
#pragma once

__device__ __forceinline__ void cluster_begin(shared_t &shared) {
    if (threadIdx.x == 0)  // as images_t::begin
        for (unsigned i = 0; i < CLUSTER_EXCHANGES; i++)
            barrier_init(shared_address(shared.arrived + i));
    __syncthreads();
    cluster_barrier();
}

// A block must not exit while another writes to its shared memory.
__device__ __forceinline__ void cluster_end() {
    cluster_barrier();
}

// Before a step, whose first words may already have arrived: counts may be negative.
__device__ __forceinline__ void cluster_expect(shared_t &shared) {
    constexpr unsigned SUMS_BYTES = RANKS * ROWS * OWN * 4, LOGITS_BYTES = RANKS * ROWS * PADDED_CLASSES * 4;
    const unsigned i = threadIdx.x;
    if (i < CLUSTER_EXCHANGES)
        barrier_expect(shared_address(shared.arrived + i),
                       i < LOGITS ? SUMS_BYTES : i == LOGITS ? LOGITS_BYTES : ROWS * PANEL * 2);
}

// All threads of this block have sent before a matrix is complete, so this is also a barrier of the block.
__device__ __forceinline__ void cluster_wait(shared_t &shared, cluster_exchange matrix, unsigned step) {
    barrier_wait(shared_address(shared.arrived + matrix), step % 2);
    __syncwarp();  // lanes may leave the loop separately; products need whole warps
}

// To address `to` of this block's shared memory, in block `rank`.
__device__ __forceinline__ void cluster_send(shared_t &shared, unsigned rank, const void *to,
                                             const unsigned (&words)[4], cluster_exchange matrix) {
    const unsigned base = shared_address(&shared), remote = address_in(rank, base);
    store_async(remote + (shared_address(to) - base), words, remote + (shared_address(shared.arrived + matrix) - base));
}

// To the owner of neurons `column` … of the cluster's: a tile of sums for 16 images from `row`.
__device__ __forceinline__ void send_sums(shared_t &shared, cluster_exchange layer, unsigned, unsigned row,
                                          unsigned column, const tile_t &sums) {
    const float4 v = four_columns(sums);
    const unsigned words[4] = {__float_as_uint(v.x), __float_as_uint(v.y), __float_as_uint(v.z), __float_as_uint(v.w)};
    row += row_of_four(), column += column_of_four();
    cluster_send(shared, column / OWN, &shared.sums[layer % 2].of_layer[rank_of()][row][column % OWN], words, layer);
}

// A thread's pair of neurons, summed over the ranks.
__device__ __forceinline__ float2 received_sum(const shared_t &shared, cluster_exchange layer, unsigned,
                                               unsigned pair) {
    float2 parts[RANKS / GROUPS];
#pragma unroll
    for (unsigned i = 0; i < RANKS / GROUPS; i++)
        parts[i] = *(const float2 *)&shared.sums[layer % 2]
                        .of_layer[i * GROUPS + threadIdx.x % GROUPS][row_of_pair(pair)][column_of_pair(pair)];
    return sum_of_lanes(parts);
}

// To all: this rank's sums of the logits of two classes. Two lanes make 16 bytes.
__device__ __forceinline__ void send_logits(shared_t &shared, unsigned, unsigned row, unsigned k, float2 sum) {
    const unsigned first = lane_of() / 2 * 2;
    unsigned words[4];
#pragma unroll
    for (unsigned i = 0; i < 2; i++) {
        words[2 * i] = __shfl_sync(EVERY_LANE, __float_as_uint(sum.x), first + i);
        words[2 * i + 1] = __shfl_sync(EVERY_LANE, __float_as_uint(sum.y), first + i);
    }
    for (unsigned rank = lane_of() % 2; rank < RANKS; rank += 2)
        cluster_send(shared, rank, &shared.sums[LOGITS % 2].of_logits[rank_of()][row][k / 4 * 4], words, LOGITS);
}

__device__ __forceinline__ float2 received_logits(const shared_t &shared, unsigned, unsigned row, unsigned k) {
    float2 sums = make_float2(0, 0);
#pragma unroll
    for (unsigned rank = 0; rank < RANKS; rank++) {
        const float2 part = *(const float2 *)&shared.sums[LOGITS % 2].of_logits[rank][row][k];
        sums = make_float2(sums.x + part.x, sums.y + part.y);
    }
    return sums;
}

// To all: this thread's pair of deltas. The lanes of four pairs make 16 bytes and send them to different blocks.
__device__ __forceinline__ void send_deltas(shared_t &shared, cluster_exchange matrix, unsigned, unsigned pair,
                                            half2 delta) {
    constexpr unsigned SENDERS = 4 * GROUPS;
    unsigned words[4];
#pragma unroll
    for (unsigned i = 0; i < 4; i++)
        words[i] = __shfl_sync(EVERY_LANE, *(const unsigned *)&delta, lane_of() / SENDERS * SENDERS + i * GROUPS);
    const unsigned row = row_of_pair(pair), chunk = (rank_of() * OWN + column_of_pair(pair)) / 8;
    panel_rows_t &to = shared.delta[matrix == DELTA_1];
    for (unsigned rank = lane_of() % SENDERS; rank < RANKS; rank += SENDERS)
        cluster_send(shared, rank, &to[row][(chunk ^ row % 8) * 8], words, matrix);
}

__device__ __forceinline__ void receive_deltas(shared_t &shared, cluster_exchange matrix, unsigned step) {
    cluster_wait(shared, matrix, step);
}
