// What the rungs share: which dtype and which layers they are for, and names of the sizes of one hidden layer.
#pragma once
#ifdef TAKES_F16
#if !DTYPE_F16
#error SKIP: for dtype f16 only
#endif
#elif !DTYPE_F32
#error SKIP: for dtype f32 only
#endif

#ifdef HIDDEN_LAYERS
#if N_LAYERS != 3
#error SKIP: needs exactly one hidden layer
#else
constexpr unsigned N_IN = LAYERS_0, N_HIDDEN = LAYERS_1, N_OUT = LAYERS_2;
#endif
#endif
