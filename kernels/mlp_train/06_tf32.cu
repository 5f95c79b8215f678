// Idea    Tensor cores multiply what 32-bit lanes did, at the price of 13 bits of each factor: tf32 has 10 of a float's 23.
//         A dtype of its own, compared with PyTorch's tf32 alone.
// Change  Rung 04 with mma.sync for all wide products (wide_product.cuh, train_layers.cuh): factors are rounded to the
//         nearest tf32 on their way out of shared memory, sums are float32. The last layer, loss, biases and update
//         stay float32.
// Buys    Predicted: a product of 16 x 8 x 8 a warp is 1024 multiply-adds, 1024 a clock on an H200 with mma.sync at half
//         the rate of wgmma: a forward or input gradient is 340 clocks of it and as much to load and round the factors,
//         so copies and sums (2.0 us of rung 03's 3.2) decide; all gradients about 2.5 us of 5.5. In a graph 17 us a
//         step for 26, 16 ms an epoch. Measured: 31.8 for 43.1 (H200); a product about 3.9 us for 5.3, of which 0.6 with
//         tensor cores.
// Limits  Kernels wait for copies and for each other, not for tensor cores. A gradient is 1e-2 off float64's, as
//         PyTorch's is. Older than sm_80: no tf32.
#define TAKES_TF32
#define IN_GRAPH 1
#include "03_registers.cu"
