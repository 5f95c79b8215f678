// Idea    Rung 08 with one tf32 product instead of three.
// Change  Rung 08's kernel for dtype tf32; factors are rounded to the nearest tf32. Sums, biases and update stay
//         float32.
// Buys    Predicted, width 784: a product or gradient 0.5 us instead of 1.1, bound by reading shared memory, so that
//         updates fit the exchanges: 14 us a step, 13 ms an epoch, where rung 06 takes 29.8. Measured: 33.4 ms, and
//         17.6 at 256 (06: 18.5). Only products and gradients shrink, to half of rung 08's.
// Limits  As rung 08. A gradient is 1e-2 off float64's, as PyTorch's is.
#define TAKES_TF32
#include "08_on_chip_split_tf32.cu"
