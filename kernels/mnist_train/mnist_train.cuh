// What the rungs of mnist_train share: one signature, the problem, the small kernels, the evaluation.
//   784 - H - H - H - 10, y = W a + b, ReLU after all but the last, cross-entropy over the softmax, mean over the
//   batch; w -= rate * dw. Weights and activations are fp16, sums float32 (ACCUMULATE_F16: fp16 in matrix products),
//   the loss and the update float32.
// With dtype mixed, weights and biases are float32, and products and sums take their float16 (split_weight.cuh).
// HIDDEN, BATCH, DTYPE_F16, DTYPE_MIXED and ACCUMULATE_F16 come from the workload's descriptor.
#pragma once
#include <cuda_fp16.h>

#ifdef WORKLOAD_ARGUMENTS
#include "../common/workload.cuh"
#else
#include "../common/launch.cuh"
#endif

#include "../common/cross_entropy.cuh"
#include "../common/warp.cuh"

#ifndef DTYPE_MIXED
#define DTYPE_MIXED 0
#endif
#ifndef TAKES_MIXED  // rungs that can have float32 weights: 1
#define TAKES_MIXED 0
#endif
#if HIDDEN % 8 != 0
#error SKIP: needs a hidden size that is a multiple of 8
#elif defined(DTYPE_F16) && !DTYPE_F16 && !(DTYPE_MIXED && TAKES_MIXED)
#error SKIP: its weights are f16
#endif

constexpr unsigned LAYERS = 4, PIXELS = 784, CLASSES = 10;
constexpr unsigned PADDED_CLASSES = 16;  // columns of logits and delta[3]; in delta those from 10 on are 0

struct mnist_t {
    const half *images;           // (images_n, 784); in `evaluate` the test images and labels
    const unsigned char *labels;  // one per image
    const unsigned *order;        // images of step s: order[s * BATCH … s * BATCH + BATCH - 1]
    half *w[LAYERS], *b[LAYERS];  // (n_out, n_in) row-major, (n_out): one block of memory, see parameter_offset()
    half *a[LAYERS];              // a[0] (BATCH, 784) for rungs that gather; a[1 … 3] (BATCH, HIDDEN), after the ReLU
    half *delta[LAYERS];          // (BATCH, n_out): BATCH times the gradient of W a + b; delta[3] (BATCH, 16)
    float *logits;                // (BATCH, 16)
    float *losses;                // of the batch before the update, one per step
    float *gradients[LAYERS];     // null, or, in a training of one step, its gradient divided by BATCH (n_out, n_in + 1),
                                  // the last column the bias's
    float *scratch;               // PARAMETERS floats if plan.scratch_per_item is 1, else null
    unsigned short *low_halves;   // dtype mixed: of all parameters, as far from here as these are from w[0]; else null
    unsigned *counters;           // 64 words, 0 before each training; see enum counter
    unsigned long long seed;
    float rate;
    unsigned steps;  // of this training, for STAGE_TRAINING kernels
    unsigned images_n;
#ifdef WORKLOAD_ARGUMENTS
    unsigned step;
};
#else
};

// bench/workloads/mnist_train/cublaslt.h mirrors it, with the same assertion.
static_assert(sizeof(mnist_t) == 248, "the host's layout");
#endif

// Words from 16 on, except COUNTER_CORRECT, are free for a rung's barriers and tickets.
enum counter {
    COUNTER_STEP = 0,      // the current step, in rungs launched step by step: its last kernel adds 1
    COUNTER_CORRECT = 32,  // test images classified correctly by `evaluate`
};

__host__ __device__ constexpr unsigned fan_in(unsigned layer) {
    return layer == 0 ? PIXELS : HIDDEN;
}
__host__ __device__ constexpr unsigned fan_out(unsigned layer) {
    return layer == LAYERS - 1 ? CLASSES : HIDDEN;
}
__host__ __device__ constexpr unsigned long long padded(unsigned long long elements) {
    return (elements + 127) / 128 * 128;  // 256 bytes of halves
}
// Offset from w[0] of w[layer] (b[layer] with `bias`), a multiple of 128 elements.
__host__ __device__ constexpr unsigned long long parameter_offset(unsigned layer, bool bias) {
    unsigned long long offset = 0;
    for (unsigned l = 0; l < layer; l++)
        offset += padded((unsigned long long)fan_in(l) * fan_out(l)) + padded(fan_out(l));
    return bias ? offset + padded((unsigned long long)fan_in(layer) * fan_out(layer)) : offset;
}
constexpr unsigned long long PARAMETERS = parameter_offset(LAYERS - 1, true) + padded(CLASSES);

#ifndef WORKLOAD_ARGUMENTS
#define PROBLEM_KERNEL(name, ...) extern "C" __global__ void __VA_ARGS__ name(const __grid_constant__ mnist_t p)

// For STAGES: a grid of a fixed number of blocks.
#define BLOCKS_STAGE(name, when, flags, threads, blocks, shared) \
    {name, when, flags, threads, 1, 0, blocks, shared}
#define CLUSTERS_STAGE(name, when, flags, threads, blocks, shared, cluster) \
    BLOCKS_STAGE(name, when, flags, threads, blocks, shared)
#define IN_CLUSTERS(blocks) __cluster_dims__(blocks, 1, 1)
#define FIRST_STAGES
#define LAST_STAGES EVALUATE_STAGE,
#define LAUNCHED_AS_GRAPH static_assert(true, "PLAN says so")
#endif
#define MNIST_KERNEL(name, threads) PROBLEM_KERNEL(name, __launch_bounds__(threads, 1))

// The step that a kernel is launched in, and its end, if it is the last one that needs to know.
__device__ __forceinline__ unsigned step_now(const mnist_t &p) {
#ifdef WORKLOAD_ARGUMENTS
    return p.step;
#else
    return __ldcg(p.counters + COUNTER_STEP);
#endif
}
__device__ __forceinline__ void end_step(const mnist_t &p) {
#ifndef WORKLOAD_ARGUMENTS
    p.counters[COUNTER_STEP] = step_now(p) + 1;
#endif
}
// The one after it, in kernels that come after the end_step() of the one before.
__device__ __forceinline__ unsigned next_step(const mnist_t &p) {
#ifdef WORKLOAD_ARGUMENTS
    return p.step + 1;
#else
    return step_now(p);
#endif
}

// `g` is already divided by BATCH.
__device__ __forceinline__ half updated(half w, float rate, float g) {
    return __float2half_rn(fmaf(-rate, g, __half2float(w)));
}

__device__ __forceinline__ float2 to_floats(unsigned pair) {
    return __half22float2(*reinterpret_cast<const half2 *>(&pair));
}

__device__ __forceinline__ unsigned to_halves(float low, float high) {
    const half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const unsigned *>(&pair);
}

#include "split_weight.cuh"
#ifdef WORKLOAD_ARGUMENTS
#include "described.cuh"
#endif

// Updates two weights of a row by the sums of their gradients over the batch.
__device__ __forceinline__ unsigned updated_pair(unsigned weights, float sum, float next_sum, float rate) {
    const float2 w = to_floats(weights);
    return to_halves(fmaf(-rate, sum, w.x), fmaf(-rate, next_sum, w.y));
}

// The same, with dtype mixed of float32 weights; otherwise `low` is not used.
__device__ __forceinline__ void update_pair(unsigned &weights, unsigned &low, float sum, float next_sum, float rate) {
    if (!DTYPE_MIXED) {
        weights = updated_pair(weights, sum, next_sum, rate);
        return;
    }
    const float2 w = to_floats(weights);
    const float x = fmaf(-rate, sum, joined<false>(w.x, low)), y = fmaf(-rate, next_sum, joined<true>(w.y, low));
    weights = to_halves(x, y);
    low = low_halves(x, y);
}

// The second words of parameters: those at `first` in the parameters' block.
__device__ __forceinline__ unsigned short *low_of(const mnist_t &p, const half *first) {
    return p.low_halves + (first - p.w[0]);
}

__device__ __forceinline__ float load_bias(const mnist_t &p, const half *bias) {
    const float value = __half2float(__ldcg(bias));
    return DTYPE_MIXED ? joined<false>(value, __ldcg(low_of(p, bias))) : value;
}
__device__ __forceinline__ half store_bias(const mnist_t &p, half *bias, float value) {
    if (DTYPE_MIXED)
        *low_of(p, bias) = (unsigned short)low_halves(value, 0);
    return *bias = __float2half_rn(value);
}
// A bias in memory; `g` is already divided by BATCH. Returns the new bias as products' sums take it.
__device__ __forceinline__ half descend_bias(const mnist_t &p, half *bias, float g) {
    return store_bias(p, bias, fmaf(-p.rate, g, load_bias(p, bias)));
}

// ---- gather: a[0] = the step's images, one block each -----------------------------------------------------------

constexpr unsigned IMAGE_VECTORS = PIXELS * sizeof(half) / sizeof(uint4), GATHER_THREADS = 128;
static_assert(IMAGE_VECTORS <= GATHER_THREADS, "a thread copies one vector");
#define GATHER_STAGE BLOCKS_STAGE("gather", STAGE_EPOCH, 0, GATHER_THREADS, BATCH, 0)

MNIST_KERNEL(gather, GATHER_THREADS) {
    const unsigned row = blockIdx.x, vector = threadIdx.x;
    if (vector >= IMAGE_VECTORS)
        return;
    const unsigned step = step_now(p);
    const size_t image = p.order[(size_t)step * BATCH + row];
    const uint4 *from = (const uint4 *)(p.images + image * PIXELS);
    ((uint4 *)(p.a[0] + (size_t)row * PIXELS))[vector] = from[vector];
}

// ---- loss: losses[step] and delta[3] from the logits, in one block ---------------------------------------------

// A rung whose logits lack b[3] defines LOSS_ADDS_BIAS as 1 before it includes this file.
#ifndef LOSS_ADDS_BIAS
#define LOSS_ADDS_BIAS 0
#endif

constexpr unsigned LOSS_THREADS = BATCH >= 256 ? 256 : (BATCH + 31) / 32 * 32;
#define LOSS_STAGE BLOCKS_STAGE("loss", STAGE_EPOCH, 0, LOSS_THREADS, 1, 0)

__device__ __forceinline__ float loss_of_row(const mnist_t &p, unsigned step, unsigned row) {
    float logit[CLASSES], delta[CLASSES];
#pragma unroll
    for (unsigned k = 0; k < CLASSES; k++)
        logit[k] = p.logits[row * PADDED_CLASSES + k] + (LOSS_ADDS_BIAS ? __half2float(p.b[LAYERS - 1][k]) : 0.0f);
    const float loss = cross_entropy(logit, p.labels[p.order[(size_t)step * BATCH + row]], delta);
#pragma unroll
    for (unsigned k = 0; k < PADDED_CLASSES; k++)
        p.delta[LAYERS - 1][row * PADDED_CLASSES + k] = __float2half_rn(k < CLASSES ? delta[k] : 0.0f);
    return loss;
}

MNIST_KERNEL(loss, LOSS_THREADS) {
    __shared__ float of_warp[LOSS_THREADS / 32];
    const unsigned step = step_now(p);
    float sum = 0;
    for (unsigned row = threadIdx.x; row < BATCH; row += LOSS_THREADS)
        sum += loss_of_row(p, step, row);
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    float total = 0;
    for (unsigned warp = 0; warp < LOSS_THREADS / 32; warp++)
        total += of_warp[warp];
    p.losses[step] = total / BATCH;
}

#ifndef WORKLOAD_ARGUMENTS
// ---- evaluate: counts correctly classified test images after the training, not timed ---------------------------

// A block runs a few images through all layers; its warps share the rows of W. Activations are fp16, as in training.
constexpr unsigned EVALUATE_THREADS = 256, EVALUATE_WIDTH = HIDDEN > PIXELS ? HIDDEN : PIXELS;
#if SHARED_LIMIT <= 64 * 1024 && HIDDEN > 16320
#error SKIP: the activations of layers this wide do not fit in shared memory
#endif
// Two activations per image in 64 KiB; on sm_75 this is the limit, and the logits need some of it.
constexpr unsigned EVALUATE_FIT = (SHARED_LIMIT > 64 * 1024 ? 16384 : 16320) / EVALUATE_WIDTH;
constexpr unsigned EVALUATE_IMAGES = EVALUATE_FIT > 4 ? 4 : EVALUATE_FIT;
constexpr unsigned EVALUATE_SHARED = 2 * EVALUATE_IMAGES * EVALUATE_WIDTH * sizeof(half);
#define EVALUATE_STAGE BLOCKS_STAGE("evaluate", STAGE_AFTER, 0, EVALUATE_THREADS, 2048, EVALUATE_SHARED)

// sums[image] = row · activation, in every lane.
__device__ __forceinline__ void evaluate_row(const half *row, const half *from, unsigned n_in,
                                             float (&sums)[EVALUATE_IMAGES]) {
#pragma unroll 1
    for (unsigned i = threadIdx.x % 32 * 8; i < n_in; i += 32 * 8) {
        const uint4 packed_w = *(const uint4 *)(row + i);
#pragma unroll
        for (unsigned image = 0; image < EVALUATE_IMAGES; image++) {
            const uint4 packed_a = *(const uint4 *)(from + image * EVALUATE_WIDTH + i);
#pragma unroll
            for (unsigned k = 0; k < 4; k++) {
                const float2 w = __half22float2(((const half2 *)&packed_w)[k]);
                const float2 a = __half22float2(((const half2 *)&packed_a)[k]);
                sums[image] = fmaf(w.x, a.x, fmaf(w.y, a.y, sums[image]));
            }
        }
    }
#pragma unroll
    for (unsigned image = 0; image < EVALUATE_IMAGES; image++)
        sums[image] = warp_sum(sums[image]);
}

__device__ __forceinline__ void evaluate_layer(const mnist_t &p, unsigned layer, const half *from, half *to,
                                               float (*logits)[CLASSES]) {
    const unsigned n_in = fan_in(layer), n_out = fan_out(layer);
    for (unsigned out = threadIdx.x / 32; out < n_out; out += EVALUATE_THREADS / 32) {
        float sums[EVALUATE_IMAGES] = {};
        evaluate_row(p.w[layer] + (size_t)out * n_in, from, n_in, sums);
        if (threadIdx.x % 32 != 0)
            continue;
        const float bias = __half2float(p.b[layer][out]);
#pragma unroll
        for (unsigned image = 0; image < EVALUATE_IMAGES; image++) {
            const float y = sums[image] + bias;
            if (layer == LAYERS - 1)
                logits[image][out] = y;
            else
                to[image * EVALUATE_WIDTH + out] = __float2half_rn(fmaxf(y, 0.0f));
        }
    }
    __syncthreads();
}

MNIST_KERNEL(evaluate, EVALUATE_THREADS) {
    extern __shared__ uint4 evaluate_memory[];
    __shared__ float logits[EVALUATE_IMAGES][CLASSES];
    half *here = (half *)evaluate_memory, *there = here + EVALUATE_IMAGES * EVALUATE_WIDTH;
    for (unsigned first = blockIdx.x * EVALUATE_IMAGES; first < p.images_n; first += gridDim.x * EVALUATE_IMAGES) {
        for (unsigned i = threadIdx.x; i < EVALUATE_IMAGES * PIXELS; i += EVALUATE_THREADS) {
            const unsigned image = min(first + i / PIXELS, p.images_n - 1);
            here[i / PIXELS * EVALUATE_WIDTH + i % PIXELS] = p.images[(size_t)image * PIXELS + i % PIXELS];
        }
        __syncthreads();
        evaluate_layer(p, 0, here, there, logits);
        evaluate_layer(p, 1, there, here, logits);
        evaluate_layer(p, 2, here, there, logits);
        evaluate_layer(p, 3, there, here, logits);
        if (threadIdx.x < EVALUATE_IMAGES && first + threadIdx.x < p.images_n) {
            const float *own = logits[threadIdx.x];
            unsigned best = 0;
            for (unsigned k = 1; k < CLASSES; k++)
                best = own[k] > own[best] ? k : best;
            if (best == p.labels[first + threadIdx.x])
                atomicAdd(&p.counters[COUNTER_CORRECT], 1);
        }
        __syncthreads();
    }
}
#endif
