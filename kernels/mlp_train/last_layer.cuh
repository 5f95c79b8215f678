// The last layer, one block per row of the batch: logits, loss, dy, and dx masked by the ReLU, which is the hidden
// layer's dy. W does not change before the step's end: it is read before the kernel waits for x, and only once if a
// thread's part fits its registers.
#pragma once
#include "tiles.cuh"

constexpr unsigned LAST_THREADS = 256, LAST_ROW = WIDTH / WORDS, LAST_EACH = (LAST_ROW + LAST_THREADS - 1) / LAST_THREADS;
constexpr bool KEEPS_W = LAST_EACH == 1;

struct words_t {
    float word[WORDS];
};

__device__ __forceinline__ words_t load_words(const float *from) {
    words_t v;
    if (WORDS == 4) {
        const float4 four = __ldcg((const float4 *)from);
#pragma unroll
        for (unsigned k = 0; k < WORDS; k++)
            v.word[k] = component(four, k);
    } else {
        v.word[0] = __ldcg(from);
    }
    return v;
}

__device__ __forceinline__ void load_classes(const op_t &p, unsigned i, words_t (&w)[CLASSES]) {
#pragma unroll
    for (unsigned k = 0; k < CLASSES; k++)
        w[k] = load_words(p.w + (size_t)k * WIDTH + i * WORDS);
}

// Reduces COUNT sums over a warp; each step halves the sums per lane: 12 exchanges for ten sums instead of 50. Leaves
// sum number class_of_lane() in sum[0].
template <unsigned COUNT, unsigned LANES> __device__ __forceinline__ void reduce_classes(float *sum) {
    constexpr unsigned HALF = (COUNT + 1) / 2;
    const bool upper = threadIdx.x & LANES;
#pragma unroll
    for (unsigned k = 0; k < HALF; k++) {
        const float low = sum[k], high = k + HALF < COUNT ? sum[k + HALF] : 0.0f;
        sum[k] = (upper ? high : low) + __shfl_xor_sync(EVERY_LANE, upper ? low : high, LANES);
    }
    if constexpr (LANES > 2)
        reduce_classes<HALF, LANES / 2>(sum);
    else
        sum[0] += __shfl_xor_sync(EVERY_LANE, sum[0], 1);
}

// The class whose sum reduce_classes() leaves in this lane; CLASSES: none.
__device__ __forceinline__ unsigned class_of_lane() {
    const unsigned lane = threadIdx.x % 32, of_three = lane / 4 % 2 * 2 + lane / 2 % 2,
                   of_five = lane / 8 % 2 * 3 + of_three;
    return lane % 2 == 0 && of_three < 3 && of_five < 5 ? lane / 16 * 5 + of_five : CLASSES;
}

// All logits, in every thread.
__device__ __forceinline__ void sum_logits(float bias, float (&own)[CLASSES],
                                           float (&logit)[CLASSES]) {
    constexpr unsigned WARPS = LAST_THREADS / 32;
    __shared__ float4 of_warp[CLASSES][WARPS / 4];
    reduce_classes<CLASSES, 16>(own);
    const unsigned of_lane = class_of_lane(), lane = threadIdx.x % 32;
    if (of_lane < CLASSES)
        ((float *)of_warp[of_lane])[threadIdx.x / 32] = own[0];
    __syncthreads();
    float sum = bias;
#pragma unroll
    for (unsigned four = 0; four < WARPS / 4; four++) {
        const float4 v = of_warp[min(lane, CLASSES - 1)][four];
        sum += (v.x + v.y) + (v.z + v.w);
    }
#pragma unroll
    for (unsigned k = 0; k < CLASSES; k++)
        logit[k] = __shfl_sync(EVERY_LANE, sum, k);
}

OPERATOR(linear_loss, LAST_THREADS) {
    const unsigned row = blockIdx.x;
    const float *x_row = p.x + (size_t)row * WIDTH;
    float own[CLASSES] = {}, logit[CLASSES], delta[CLASSES];
    words_t w[CLASSES] = {}, x = {};
    const unsigned label = p.labels[source_row(p, row)];
    if (KEEPS_W && threadIdx.x < LAST_ROW)
        load_classes(p, threadIdx.x, w);
    const float bias = __ldcg(p.b + min(threadIdx.x % 32, CLASSES - 1)), share = 1.0f / p.rows;
    wait_for_earlier_kernels();
    for (unsigned i = threadIdx.x; i < LAST_ROW; i += LAST_THREADS) {
        x = load_words(x_row + i * WORDS);
        if (!KEEPS_W)
            load_classes(p, i, w);
#pragma unroll
        for (unsigned k = 0; k < CLASSES; k++)
#pragma unroll
            for (unsigned c = 0; c < WORDS; c++)
                own[k] = fmaf(x.word[c], w[k].word[c], own[k]);
    }
    sum_logits(bias, own, logit);
    float largest = logit[0], sum = 0, of_label = 0;
#pragma unroll
    for (unsigned k = 1; k < CLASSES; k++)
        largest = fmaxf(largest, logit[k]);
#pragma unroll
    for (unsigned k = 0; k < CLASSES; k++) {
        delta[k] = expf(logit[k] - largest);
        sum += delta[k];
    }
    const float scale = share / sum;
#pragma unroll
    for (unsigned k = 0; k < CLASSES; k++) {
        delta[k] = fmaf(delta[k], scale, k == label ? -share : 0.0f);
        of_label = k == label ? logit[k] : of_label;
        if (threadIdx.x == k)
            p.dy[(size_t)row * CLASSES + k] = delta[k];
    }
    if (threadIdx.x == 0)
        p.loss[row] = logf(sum) + largest - of_label;
    for (unsigned i = threadIdx.x; i < LAST_ROW; i += LAST_THREADS) {
        if (!KEEPS_W) {
            x = load_words(x_row + i * WORDS);
            load_classes(p, i, w);
        }
        float dx[4] = {};
#pragma unroll
        for (unsigned c = 0; c < WORDS; c++) {
#pragma unroll
            for (unsigned k = 0; k < CLASSES; k++)
                dx[c] = fmaf(delta[k], w[k].word[c], dx[c]);
            dx[c] = x.word[c] > 0 ? dx[c] : 0.0f;
        }
        float *to = p.dx + (size_t)row * WIDTH + i * WORDS;
        if constexpr (WORDS == 4)
            *(float4 *)to = make_float4(dx[0], dx[1], dx[2], dx[3]);
        else
            *to = dx[0];
    }
}
