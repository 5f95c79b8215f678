// What the rungs share: the problem, made from a kernel's parameters and the workspace, and how they are launched.
//   784 - H - H - H - 10, y = W a + b, ReLU after all but the last, cross-entropy over the softmax, mean over the
//   batch; w -= rate * dw. Weights and activations are fp16, sums float32 (ACCUMULATE_F16: fp16 in matrix products),
//   the loss and the update float32.
// With dtype mixed, weights and biases are float32, and products and sums take their float16: they are split
// (split_weight.cuh) before the first step, and joined after the last.
#pragma once
#include <cuda_fp16.h>

#include "common/workload.cuh"

#include "common/cross_entropy.cuh"
#include "common/warp.cuh"

#ifndef SCRATCH  // rungs that use p.scratch: 1
#define SCRATCH 0
#endif
#ifndef TAKES_MIXED  // rungs that can have float32 weights: 1
#define TAKES_MIXED 0
#endif
#if HIDDEN % 8 != 0
#error SKIP: needs a hidden size that is a multiple of 8
#elif !DTYPE_F16 && !(DTYPE_MIXED && TAKES_MIXED)
#error SKIP: its weights are f16
#endif

constexpr unsigned LAYERS = 4, PIXELS = 784, CLASSES = 10;
constexpr unsigned IMAGE_VECTORS = PIXELS * sizeof(half) / sizeof(uint4);
constexpr unsigned PADDED_CLASSES = 16;  // columns of logits and delta[3]; in delta those from 10 on are 0

struct mnist_t {
    const half *images;           // (images_n, 784)
    const unsigned char *labels;  // one per image
    const unsigned *order;        // images of step s: order[s * BATCH … s * BATCH + BATCH - 1]
    half *w[LAYERS], *b[LAYERS];  // (n_out, n_in) row-major, (n_out); with dtype mixed as parameter_offset() says
    half *a[LAYERS];              // a[0] (BATCH, 784) for rungs that gather; a[1 … 3] (BATCH, HIDDEN), after the ReLU
    half *delta[LAYERS];          // (BATCH, n_out): BATCH times the gradient of W a + b; delta[3] (BATCH, 16)
    float *logits;                // (BATCH, 16)
    float *losses;                // of the batch before the update, one per step
    float *scratch;               // 4 * HIDDEN * HIDDEN bytes, of rungs with SCRATCH
    unsigned short *low_halves;   // dtype mixed: of all parameters, as far from here as these are from w[0]; else null
    unsigned *counters;           // 64 words, 0 before each training; free for a rung's barriers and tickets
    float rate;
    unsigned steps;  // of this call
    unsigned images_n;
    unsigned step;  // of the launch
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

// ---- the problem, in a workspace

__host__ __device__ constexpr size_t aligned(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}
constexpr size_t PIXELS_BYTES = aligned(BATCH * PIXELS * sizeof(half)), LAYER_BYTES = aligned(BATCH * HIDDEN * sizeof(half));
constexpr size_t CLASSES_BYTES = aligned(BATCH * PADDED_CLASSES * sizeof(float)), COUNTERS_BYTES = 256;
// Where each part of the workspace begins.
constexpr size_t LOGITS_AT = COUNTERS_BYTES, LAST_DELTA_AT = LOGITS_AT + CLASSES_BYTES,
                 IMAGES_AT = LAST_DELTA_AT + CLASSES_BYTES, LAYERS_AT = IMAGES_AT + PIXELS_BYTES,
                 SPLIT_AT = LAYERS_AT + 2 * (LAYERS - 1) * LAYER_BYTES, SPLIT_BYTES = DTYPE_MIXED * 4 * PARAMETERS,
                 SCRATCH_AT = SPLIT_AT + SPLIT_BYTES;

#define OF_BATCH "batch*(12*hidden+1700)+16384"
#ifdef WORKLOAD_HOST  // library.cuh says what else is in it
WORKSPACE = "4*hidden*(hidden+400)+batch*(13*hidden+1800)+33600000";
#elif SCRATCH
WORKSPACE = "4 * hidden ** 2 + " OF_BATCH;
#elif DTYPE_MIXED
WORKSPACE = "8*hidden*(hidden+400)+" OF_BATCH;
#else
WORKSPACE = OF_BATCH;
#endif
static_assert(LAYERS_AT + 6 * LAYER_BYTES <= BATCH * (12 * HIDDEN + 1700) + 4096, "the workspace");
static_assert(4 * PARAMETERS <= 8ull * HIDDEN * (HIDDEN + 400) + 12288, "the workspace, dtype mixed");

struct arrays_t {
    W *w[LAYERS], *b[LAYERS];
};

__host__ __device__ __forceinline__ mnist_t problem_of(const half *x, const unsigned char *labels, const int *order,
                                              const arrays_t &arrays, unsigned char *workspace, float *loss) {
    mnist_t p = {};
    p.images = x;
    p.labels = labels;
    p.order = (const unsigned *)order;
    for (unsigned l = 0; l < LAYERS; l++) {
        half *const halves = (half *)(workspace + SPLIT_AT);
        p.w[l] = DTYPE_MIXED ? halves + parameter_offset(l, false) : (half *)arrays.w[l];
        p.b[l] = DTYPE_MIXED ? halves + parameter_offset(l, true) : (half *)arrays.b[l];
        p.a[l] = (half *)(workspace + (l == 0 ? IMAGES_AT : LAYERS_AT + (l - 1) * LAYER_BYTES));
        p.delta[l] = (half *)(workspace + (l == LAYERS - 1 ? LAST_DELTA_AT : LAYERS_AT + (LAYERS - 1 + l) * LAYER_BYTES));
    }
    p.low_halves = DTYPE_MIXED ? (unsigned short *)(workspace + SPLIT_AT) + PARAMETERS : nullptr;
    p.scratch = (float *)(workspace + SCRATCH_AT);
    p.counters = (unsigned *)workspace;
    p.logits = (float *)(workspace + LOGITS_AT);
    p.losses = loss;
    p.steps = WORKLOAD_STEPS;
    return p;
}

// In a kernel: the arrays of all layers, and the problem.
#define ARRAYS arrays_t{{w0, w1, w2, w3}, {b0, b1, b2, b3}}
#define PROBLEM(p)                                                                                                     \
    mnist_t p = problem_of(x, labels, order, ARRAYS, workspace, loss);                                                 \
    p.rate = rate, p.images_n = (unsigned)images, p.step = (unsigned)step

#ifndef WORKLOAD_HOST
#define PROBLEM_KERNEL(name, ...)                                                                                      \
    __device__ __forceinline__ void name##_of(const mnist_t &p);                                                       \
    extern "C" __global__ void __VA_ARGS__ name(KERNEL_ARGUMENTS) {                                                    \
        PROBLEM(p);                                                                                                    \
        name##_of(p);                                                                                                  \
    }                                                                                                                  \
    __device__ __forceinline__ void name##_of(const mnist_t &p)
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

#ifndef WORKLOAD_HOST
// ---- launches

enum { COOPERATIVE = 1, OVERLAPS = 2 };

__host__ __device__ constexpr described_launch launch_of(described_text<64> entry, unsigned blocks, unsigned threads,
                                                         unsigned shared = 0, unsigned how = 0, unsigned cluster = 1) {
    described_launch launch = {};
    for (unsigned i = 0; i < sizeof launch.entry; i++)
        launch.entry[i] = entry.text[i];
    launch.grid[0] = {blocks};
    launch.threads[0] = {threads};
    launch.shared = {shared};
    launch.cluster[0] = {cluster};
    launch.cooperative = (how & COOPERATIVE) != 0;
    launch.overlaps = (how & OVERLAPS) != 0;
    return launch;
}
// Before the first step, or all steps.
__host__ __device__ constexpr described_launch once(described_launch launch) {
    return every("steps", launch);
}

// Parameters are split in one launch and read from the one after the next on, as kernels that overlap `begin` may not
// see what it writes.
constexpr unsigned SPLIT_THREADS = 256;
#if DTYPE_MIXED
#define SPLIT_BLOCKS (unsigned)(PARAMETERS / SPLIT_THREADS < 1024 ? PARAMETERS / SPLIT_THREADS : 1024)
#define FIRST_LAUNCHES once(launch_of("split", SPLIT_BLOCKS, SPLIT_THREADS)), once(launch_of("begin", 1, 64)),
#define LAST_LAUNCHES at_end(launch_of("join", SPLIT_BLOCKS, SPLIT_THREADS)),

template <class Use> __device__ __forceinline__ void each_parameter(const mnist_t &p, const arrays_t &arrays, Use use) {
    for (unsigned l = 0; l < LAYERS; l++)
        for (unsigned is_bias = 0; is_bias < 2; is_bias++) {
            const size_t n = is_bias ? fan_out(l) : (size_t)fan_out(l) * fan_in(l);
            float *const values = (float *)(is_bias ? arrays.b : arrays.w)[l];
            half *const halves = (is_bias ? p.b : p.w)[l];
            for (size_t i = (size_t)blockIdx.x * SPLIT_THREADS + threadIdx.x; i < n; i += gridDim.x * SPLIT_THREADS)
                use(values[i], halves[i], p.low_halves[halves - p.w[0] + i]);
        }
}

BOUNDED_KERNEL(split, SPLIT_THREADS) {
    PROBLEM(p);
    each_parameter(p, ARRAYS, [](float value, half &upper, unsigned short &low) {
        upper = __float2half_rn(value);
        low = (unsigned short)low_halves(value, 0);
    });
}

BOUNDED_KERNEL(join, SPLIT_THREADS) {
    PROBLEM(p);
    each_parameter(p, ARRAYS, [](float &value, half upper, unsigned short low) {
        value = joined<false>(__half2float(upper), low);
    });
}
#else
#define FIRST_LAUNCHES once(launch_of("begin", 1, 64)),
#define LAST_LAUNCHES
#endif

BOUNDED_KERNEL(begin, 64) {
    ((unsigned *)workspace)[threadIdx.x] = 0;
}
#endif
