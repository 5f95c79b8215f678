// What the rungs of mlp_infer share: the shape as compile-time constants, and one signature.
//   y[i] = W_L · relu(… relu(W_1 · x[i] + b_1) …) + b_L   for i < batch, no activation on the output
// x is (batch, N_IN), y is (batch, N_OUT), both row-major. Weights come in two forms, of which a rung reads the one in
// its launch.weights: `p` has one device buffer per array, `weights` all of them by value, packed W_1, b_1, W_2, b_2, …
// with W_l row-major (outputs, inputs), as in torch.nn.Linear.
#pragma once
#include "../common/launch.cuh"

// N0, N1, … are the layer sizes, inputs first; there are N_LAYERS weight matrices.
#if N_LAYERS == 1
#define LAYER_SIZES N0, N1
#elif N_LAYERS == 2
#define LAYER_SIZES N0, N1, N2
#elif N_LAYERS == 3
#define LAYER_SIZES N0, N1, N2, N3
#elif N_LAYERS == 4
#define LAYER_SIZES N0, N1, N2, N3, N4
#elif N_LAYERS == 5
#define LAYER_SIZES N0, N1, N2, N3, N4, N5
#elif N_LAYERS == 6
#define LAYER_SIZES N0, N1, N2, N3, N4, N5, N6
#elif N_LAYERS == 7
#define LAYER_SIZES N0, N1, N2, N3, N4, N5, N6, N7
#else
#error SKIP: at most 7 layers of weights
#endif

// A rung for f16 defines TAKES_F16 before it includes this: x and y are then f16 bits, and the weights are float32
// values rounded to f16.
#ifdef TAKES_F16
#if !DTYPE_F16
#error SKIP: for dtype f16 only
#endif
typedef unsigned short element;
#else
#if DTYPE_F16
#error SKIP: for dtype f32 only
#endif
typedef float element;
#endif

#define MAX_ARGUMENT_WEIGHTS 960  // floats: kernel parameters are limited to 4 KiB

struct mlp_pointers {
    const float *w[N_LAYERS], *b[N_LAYERS];
};

struct mlp_weights {
    float value[N_WEIGHTS <= MAX_ARGUMENT_WEIGHTS ? N_WEIGHTS : 1];
};

#define MLP_INFER                                                                                     \
    extern "C" __global__ void mlp_infer(const element *__restrict__ x, const mlp_pointers p,         \
                                         element *__restrict__ y, unsigned batch,                     \
                                         const __grid_constant__ mlp_weights weights)
