// Idea    Library baseline, as in the study: cuBLASLt multiplies the matrices, with bias and ReLU, its derivative and
//         the bias gradients in its epilogues where it supports them; gather, loss and SGD are separate kernels.
// Change  None: the start of the ladder. Gradients are fp16 in device memory, as in PyTorch's fp16; sums are float32
//         inside cuBLASLt (ACCUMULATE_F16: fp16, except for the logits).
// Buys    Nothing. 14 launches per step (gather, 4 + 3 + 4 products, loss, sgd), about 3 us each in a stream: 40 us, a
//         step's time at small H. H = 8192, 281 MB of weights: read forward, read backward, gradients written, read,
//         weights read and written: 1.7 GB, 390 us at 4.3 TB/s; the minimum is 843 MB, 196 us.
// Limits  Launches at small H; at large H the gradient's way through memory, half of all bytes. Rounding it to fp16
//         costs 5e-4 of each element. H a multiple of 8, for 16-byte vectors.
#define LOSS_ADDS_BIAS 1
#include "mnist_train.cuh"

#ifndef IN_GRAPH
#define IN_GRAPH 0
#endif

constexpr unsigned THREADS = 256, VECTOR = sizeof(uint4) / sizeof(half), FEW_BLOCKS = 8;
PLAN = {1, IN_GRAPH, 0, 1, 1};
// The host multiplies before `loss` (forward) and after it (backward).
STAGES = {
    FIRST_STAGES
    GATHER_STAGE,
    LOSS_STAGE,
    {"sgd", STAGE_EPOCH, 0, THREADS, 1, FEW_BLOCKS, (PARAMETERS / VECTOR + THREADS - 1) / THREADS, 0},
    {"relu_gradient", STAGE_LIBRARY, 0, THREADS, 1, FEW_BLOCKS, (BATCH * HIDDEN + THREADS - 1) / THREADS, 0},
    {"bias_gradient", STAGE_LIBRARY, 0, THREADS, 1, FEW_BLOCKS, (HIDDEN + THREADS - 1) / THREADS, 0},
    LAST_STAGES
};

#define LAYER_KERNEL(name) \
    extern "C" __global__ void __launch_bounds__(THREADS) name(const __grid_constant__ mnist_t p, unsigned layer)

// Gradients times BATCH, in the layout of the parameters.
__device__ __forceinline__ half *gradients_of(const mnist_t &p) {
    return (half *)p.scratch;
}

__device__ __forceinline__ unsigned long long first_element() {
    return blockIdx.x * THREADS + threadIdx.x;
}

__device__ __forceinline__ float gradient(half of_batch) {
    return __half2float(of_batch) * (1.0f / BATCH);
}

__device__ __forceinline__ void keep_gradients(const mnist_t &p) {
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        const half *w = gradients_of(p) + parameter_offset(layer, false);
        const half *b = gradients_of(p) + parameter_offset(layer, true);
        const unsigned long long n_in = fan_in(layer), n = (n_in + 1) * fan_out(layer);
        for (unsigned long long i = first_element(); i < n; i += gridDim.x * THREADS) {
            const unsigned long long row = i / (n_in + 1), column = i % (n_in + 1);
            p.gradients[layer][i] = gradient(column == n_in ? b[row] : w[row * n_in + column]);
        }
    }
}

MNIST_KERNEL(sgd, THREADS) {
    const uint4 *gradients = (const uint4 *)gradients_of(p);
    uint4 *parameters = (uint4 *)p.w[0];
    for (unsigned long long i = first_element(); i < PARAMETERS / VECTOR; i += gridDim.x * THREADS) {
        const uint4 packed_g = gradients[i];
        uint4 packed_w = parameters[i];
        const half *g = (const half *)&packed_g;
        half *w = (half *)&packed_w;
#pragma unroll
        for (unsigned k = 0; k < VECTOR; k++)
            w[k] = updated(w[k], p.rate, gradient(g[k]));
        parameters[i] = packed_w;
    }
    if (p.gradients[0] != nullptr)
        keep_gradients(p);
    if (first_element() == 0)
        end_step(p);
}

// Masks delta[layer - 1]: 0 unless a[layer] is positive.
LAYER_KERNEL(relu_gradient) {
    for (unsigned long long i = first_element(); i < (unsigned long long)BATCH * HIDDEN; i += gridDim.x * THREADS)
        if (!(__half2float(p.a[layer][i]) > 0))
            p.delta[layer - 1][i] = __float2half_rn(0);
}

LAYER_KERNEL(bias_gradient) {
    const unsigned n_out = fan_out(layer), columns = layer == LAYERS - 1 ? PADDED_CLASSES : HIDDEN;
    for (unsigned long long i = first_element(); i < n_out; i += gridDim.x * THREADS) {
        float sum = 0;
        for (unsigned row = 0; row < BATCH; row++)
            sum += __half2float(p.delta[layer][row * columns + i]);
        gradients_of(p)[parameter_offset(layer, true) + i] = __float2half_rn(sum);
    }
}
