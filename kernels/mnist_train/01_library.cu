// Idea    Library baseline, as in the study: cuBLASLt multiplies the matrices, with bias and ReLU, its derivative and
//         the bias gradients in its epilogues where it supports them; gather, loss and SGD are separate kernels.
// Change  None: the start of the ladder. Gradients are fp16 in device memory, as in PyTorch's fp16; sums are float32
//         inside cuBLASLt (accumulate=f16: fp16, except for the logits).
// Buys    Nothing. 17 launches per step (gather, 4 + 3 + 4 products, loss, 4 updates).
// Limits  Launches at small H; at large H the gradient's way through memory, half of all bytes. H a multiple of 8.
#include <cublasLt.h>

#include "library.cuh"
