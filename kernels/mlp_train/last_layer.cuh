// The last layer with all that hangs on it, a block for each row of the batch: its ten logits, the row's loss, dy, and
// with it dx, masked, which is the hidden layer's dy. W is read once where a thread's part of it fits its registers,
// and before the kernel waits for x: nobody changes it before the step's end.
#pragma once
#include "tiles.cuh"

constexpr unsigned LAST_THREADS = 256, LAST_ROW = WIDTH / WORDS, LAST_EACH = (LAST_ROW + LAST_THREADS - 1) / LAST_THREADS;
constexpr bool KEEPS_W = LAST_EACH == 1;
#define LAST_LAYER_STAGE(flags) {"linear_loss", STAGE_EPOCH, flags, LAST_THREADS, 1, 0, 0, 0, 1, 0, 1}

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

// Each logit in all threads.
__device__ __forceinline__ void sum_logits(const op_t &p, const float (&own)[CLASSES], float (&logit)[CLASSES]) {
    __shared__ float of_warp[CLASSES][LAST_THREADS / 32], all[CLASSES];
#pragma unroll
    for (unsigned k = 0; k < CLASSES; k++) {
        float sum = own[k];
#pragma unroll
        for (unsigned lanes = 16; lanes > 0; lanes /= 2)
            sum += __shfl_xor_sync(EVERY_LANE, sum, lanes);
        if (threadIdx.x % 32 == 0)
            of_warp[k][threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x < CLASSES) {
        float sum = __ldcg(p.b + threadIdx.x);
#pragma unroll
        for (unsigned warp = 0; warp < LAST_THREADS / 32; warp++)
            sum += of_warp[threadIdx.x][warp];
        all[threadIdx.x] = sum;
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < CLASSES; k++)
        logit[k] = all[k];
}

OPERATOR(linear_loss, LAST_THREADS) {
    const unsigned row = blockIdx.x;
    const float *x_row = p.x + (size_t)row * WIDTH;
    float own[CLASSES] = {}, logit[CLASSES], delta[CLASSES];
    words_t w[CLASSES] = {}, x = {};
    const unsigned label = p.labels[source_row(p, row)];
    if (KEEPS_W && threadIdx.x < LAST_ROW)
        load_classes(p, threadIdx.x, w);
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
    sum_logits(p, own, logit);
    const float loss = cross_entropy(logit, label, delta);
    if (threadIdx.x == 0)
        p.loss[row] = loss;
#pragma unroll
    for (unsigned k = 0; k < CLASSES; k++) {
        delta[k] /= p.rows;
        if (threadIdx.x == k)
            p.dy[(size_t)row * CLASSES + k] = delta[k];
    }
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
