// Idea    Tensor cores instead of 32-bit lanes, at the price of 13 bits of each factor: tf32 keeps 10 of a float's 23.
//         A separate dtype, compared only with PyTorch's tf32.
// Change  Rung 04 with mma.sync for all wide products (wide_product.cuh, train_layers.cuh): factors are rounded to the
//         nearest tf32 after shared memory, sums are float32. The last layer, loss, biases and update stay float32.
// Buys    Predicted: a product of 16 x 8 x 8 per warp is 1024 multiply-adds, 1024 per clock on an H200 with mma.sync at
//         half the rate of wgmma: a forward or input gradient is 340 clocks of it and as many to load and round the
//         factors, so copies and sums (2.0 us of rung 03's 3.2) dominate; all gradients about 2.5 us of 5.5. In a graph
//         17 us per step instead of 26, 16 ms per epoch. Measured: 31.8 instead of 43.1 (H200); a product about 3.9 us
//         instead of 5.3, of which 0.6 on tensor cores.
// Limits  Kernels wait for copies and for each other, not for tensor cores. A gradient is 1e-2 off float64's, as
//         PyTorch's is. Older than sm_80: no tf32.
#define TAKES_TF32
#define IN_GRAPH 1
#include "03_registers.cu"
