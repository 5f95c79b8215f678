// Rung 08: the sums of an epoch, over the threads of a block and over all blocks. One warp of each block does both: its
// lower half of lanes for Σe, its upper half for Σex. Every block adds the same words in the same order.
//
// A sum and the epoch that it belongs to are one word: its last bit tells. So a word is data and barrier in one. Tags
// count epochs since the module was loaded, when all words were 0. Even and odd tags have their own words, and of those
// each has another bit than the one before: from tag 2 on, that of the second lowest place. A word is written again when its block has all sums of the epoch between,
// which no block sends before it has read all of this one's.
#pragma once
#include "common/ptx.cuh"
#include "common/relaxed.cuh"
#include "common/stamps.cuh"

constexpr unsigned HALF = 16;
constexpr unsigned COPIES = HALF;             // of the words: spread the loads over the L2
constexpr unsigned FIRST_TAG = 2, FLAG_PERIOD = 4;
constexpr unsigned FOURS = BLOCKS / 4 / HALF; // of words, that a lane reads

__device__ uint4 words[2][COPIES][BLOCKS / 4][2]; // Σe, then Σex, of four blocks
__device__ unsigned long long loss_words[BLOCKS]; // a tag, then Σee
__device__ unsigned previous_tags;                // used since the module was loaded

struct block_t {
    float4 of_threads[3][THREADS / 4];
    float model[2]; // b, w
};

__device__ __forceinline__ unsigned half_of_lane() {
    return threadIdx.x % 32 / HALF;
}
__device__ __forceinline__ unsigned lane_of_half() {
    return threadIdx.x % HALF;
}

__device__ __forceinline__ void put_sums(block_t &block, const sums_t &sums) {
    ((float *)block.of_threads[0])[threadIdx.x] = sums.e;
    ((float *)block.of_threads[1])[threadIdx.x] = sums.ex;
    ((float *)block.of_threads[2])[threadIdx.x] = sums.ee;
}

__device__ __forceinline__ float sum_of_four(float4 v) {
    return (v.x + v.y) + (v.z + v.w);
}

// The sum over fours lane, lane + LANES, … of the threads' sums; in all of LANES lanes.
template <unsigned LANES>
__device__ __forceinline__ float sum_over_threads(const float4 (&of_threads)[THREADS / 4], unsigned lane) {
    float sum = 0;
#pragma unroll
    for (unsigned k = 0; k < THREADS / 4 / LANES; k++)
        sum += sum_of_four(of_threads[lane + k * LANES]);
    return sum_over_lanes<LANES>(sum);
}

__device__ __forceinline__ float sum_of_threads(const block_t &block) {
    return sum_over_threads<HALF>(block.of_threads[half_of_lane()], lane_of_half());
}

// ---- between blocks -------------------------------------------------------------------------------------------------

// What a lane has read of the words of all blocks.
struct polled_t {
    uint4 four[FOURS];

    __device__ __forceinline__ bool has(unsigned bit) const {
        common_bits_t of(four[FOURS - 1].w);
#pragma unroll
        for (unsigned k = FOURS; k-- > 0;)
            of.add(four[k]);
        return of.are(1, bit != 0);
    }

    __device__ __forceinline__ float sum() const {
        float sum = 0;
#pragma unroll
        for (unsigned k = 0; k < FOURS; k++)
            sum += sum_of_four(make_float4(__uint_as_float(four[k].x), __uint_as_float(four[k].y),
                                           __uint_as_float(four[k].z), __uint_as_float(four[k].w)));
        return sum;
    }
};

// By one warp, of what its halves give: each lane writes one copy of the block's word.
__device__ __forceinline__ float sum_of_blocks(float own, unsigned tag) {
    uint4(&all)[COPIES][BLOCKS / 4][2] = words[tag % 2];
    const uint4 *from = &all[blockIdx.x % COPIES][lane_of_half()][half_of_lane()];
    unsigned *to = (unsigned *)&all[lane_of_half()][blockIdx.x / 4][half_of_lane()] + blockIdx.x % 4;
    const unsigned bit = tag / 2 % 2;
    store_relaxed(to, with_last_bit(own, bit));
    STAMP(WORD_SENT, 0);
    polled_t polled;
    do {
#pragma unroll
        for (unsigned k = 0; k < FOURS; k++)
            polled.four[k] = load_relaxed(from + k * HALF * 2);
    } while (!__all_sync(EVERY_LANE, polled.has(bit)));
    STAMP(WORDS_HERE, 0);
    return sum_over_lanes<HALF>(polled.sum());
}

// By one warp: Σee of a block, to the first one …
__device__ __forceinline__ void send_loss(const block_t &block, unsigned tag) {
    const unsigned lane = threadIdx.x % 32;
    const float own = sum_over_threads<32>(block.of_threads[2], lane);
    if (lane == 0)
        store_relaxed(loss_words + blockIdx.x, (unsigned long long)tag << 32 | __float_as_uint(own));
}

// … which adds them an epoch later, when it need not wait for them. They are overwritten LOSS_EVERY epochs later.
static_assert(LOSS_EVERY > 1, "no block is more than an epoch ahead of another");
__device__ __forceinline__ void collect_loss(unsigned tag, float *loss, double inverse_n) {
    const unsigned lane = threadIdx.x % 32;
    float sum = 0;
    for (unsigned i = lane; i < BLOCKS; i += 32) {
        unsigned long long word;
        do
            word = load_relaxed(loss_words + i);
        while (word >> 32 != tag);
        sum += __uint_as_float((unsigned)word);
    }
    sum = warp_sum(sum);
    if (lane == 0)
        *loss = (float)(sum * inverse_n);
}
