// Idea    With fewer tiles than multiprocessors, divide the sums.
// Change  From 07: two blocks of a cluster compute a tile, each along half of k. Each sends half of its sums to the other,
//         warp by warp with one bulk copy through the cluster's shared memory, and adds what it gets to its own half.
//         Smaller tiles. Clusters of four took twice as long: presumably not all fit at once.
// Buys    m = 16: 6.7 us (cuBLAS 8.8), 64: 7.6 (7.9), 128: 9.0 (cuBLASLt 10.9), in one pass on an H200. Not at 256: 16.2,
//         one block for a tile of (128, 64) 13.3. Addresses and branches that the compiler knows to be the same in a warp
//         made the difference: before, 9.3 us at 64.
// Limits  Each step waits for its stage, however small its products are: stages of two steps took 7.4 at 64, 9.5 at 128.
#ifndef __CUDA_ARCH_FEAT_SM90_ALL
#error SKIP: needs wgmma and TMA (sm_90a)
#endif
#define PARTS 2
#define MOST_TILES 66  // of two blocks: an H100's or H200's multiprocessors
#define TILES_OF(rows, columns) (((M + (rows) - 1) / (rows)) * ((N + (columns) - 1) / (columns)))
#if M <= 64
#define TILE_M 64
#define TILE_N 64
#define COPIERS 32
#elif TILES_OF(128, 64) <= MOST_TILES
#define TILE_M 128
#define TILE_N 64
#define COPIERS 128
#else
#error SKIP: more than 66 tiles of (128, 64): each multiprocessor has one without dividing sums
#endif
#include "tma_ring.cuh"

LAUNCHES = {{"gemm", {TILES * PARTS}, {THREADS}, {SHARED}, {PARTS}}};

// Where the 16 bytes of four columns of a row stand in the sums of a part: rows of a fragment in different banks.
__device__ __forceinline__ unsigned chunk_at(unsigned row, unsigned chunk) {
    return (row * (PART_N / 4) + (chunk ^ row % 8)) * 16;
}

// Into the ring, where no copy is under way any more: all columns of the other part, then all of this one.
__device__ __forceinline__ void send_sums(const sums_t &sums, const ring_t &ring, unsigned part) {
    const unsigned lane = threadIdx.x % 32, warp = warp_number(), other = 1 - part;
#pragma unroll
    for (unsigned j = 0; j < TILE_N / 8; j++)
#pragma unroll
        for (unsigned h = 0; h < 2; h++)
            *reinterpret_cast<float2 *>(ring.memory + j / (PART_N / 8) * PART_BYTES + lane % 2 * 8 +
                                        chunk_at(warp * 16 + lane / 4 + h * 8, j % (PART_N / 8) * 2 + lane % 4 / 2)) =
                make_float2(sums.of[j][2 * h], sums.of[j][2 * h + 1]);
    show_to_tma();
    __syncwarp();
    constexpr unsigned BYTES = 16 * PART_N * sizeof(float);
    if (is_elected())
        send_bulk(address_in(other, ring.out() + warp * BYTES),
                  ring.address + other * PART_BYTES + warp * BYTES, BYTES,
                  address_in(other, ring.sums_are_there()));
}

__device__ __forceinline__ float4 sum_at(const unsigned char *own, const unsigned char *sent, unsigned at) {
    const float4 a = *reinterpret_cast<const float4 *>(own + at), b = *reinterpret_cast<const float4 *>(sent + at);
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__device__ __forceinline__ void add_sums(const ring_t &ring, const place_t &place, unsigned part, T *y) {
    const unsigned char *own = ring.memory + part * PART_BYTES, *sent = ring.memory + RING_BYTES;
    constexpr unsigned ACROSS = PART_N / 8;
#pragma unroll
    for (unsigned i = threadIdx.x; i < TILE_M * ACROSS; i += MULTIPLIERS) {
        const unsigned row = i / ACROSS, chunk = i % ACROSS * 2;
        const size_t m = place.m + row, n = place.n + part * PART_N + chunk * 4;
        if (m >= M || n >= N)
            continue;
        const float4 left = sum_at(own, sent, chunk_at(row, chunk)), right = sum_at(own, sent, chunk_at(row, chunk + 1));
        *reinterpret_cast<uint4 *>(y + m * N + n) = make_uint4(pair_of(left.x, left.y), pair_of(left.z, left.w),
                                                               pair_of(right.x, right.y), pair_of(right.z, right.w));
    }
}

TMA_KERNEL(gemm, (THREADS, 1), MAP(of_a), MAP(of_b), MAP(of_y)) {
    ring_t ring(of_a, of_b);
    const unsigned part = block_in_cluster();
    const place_t place(blockIdx.x / PARTS);
    cluster_arrive_started();
    if (warp_number() >= MULTIPLIERS / 32) {
        if (COPIERS == 128)
            give_registers<24>();
        if (is_copier())
            copy_tile(ring, place, part, of_a, of_b);
        __syncwarp();
        cluster_wait_started();
        cluster_arrive_started();
    } else {
        if (COPIERS == 128)
            take_registers<240>();
        sums_t sums;
        if (threadIdx.x == 0)
            barrier_expect(ring.sums_are_there(), PART_BYTES);
        multiply_tile(sums, ring);
        cluster_wait_started();
        sync_threads(1, MULTIPLIERS); // all have finished with the ring
        send_sums(sums, ring, part);
        barrier_wait(ring.sums_are_there(), 0);
        sync_threads(1, MULTIPLIERS);
        cluster_arrive_started();
        add_sums(ring, place, part, y);
    }
    cluster_wait_started(); // what was sent from here has been read
}
