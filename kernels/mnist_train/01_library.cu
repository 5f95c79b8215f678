// Idea    Library baseline, as in the study: cuBLASLt multiplies the matrices, with bias and ReLU, its derivative and
//         the bias gradients in its epilogues where it supports them; gather, loss and SGD are separate kernels.
// Change  None: the start of the ladder. Gradients are fp16 in device memory, as in PyTorch's fp16; sums are float32
//         inside cuBLASLt (accumulate=f16: fp16, except for the logits).
// Buys    Nothing. 17 launches per step (gather, 4 + 3 + 4 products, loss, 4 updates), about 3 us each in a stream:
//         50 us, a step's time at small H; measured 85 at H = 128. H = 8192, 281 MB of weights: read forward, read
//         backward, gradients written, read, weights read and written: 1.7 GB, 390 us at 4.3 TB/s, measured 516; the
//         minimum is 843 MB, 196 us.
// Limits  Launches at small H; at large H the gradient's way through memory, half of all bytes. Rounding it to fp16
//         costs 5e-4 of each element. H a multiple of 8, for 16-byte vectors.
#if !__has_include(<cublasLt.h>)
#error SKIP: needs cublasLt.h, of the CUDA toolkit
#else
#include <cublasLt.h>

#include "library.cuh"
#endif
