// Idea    The host out of the loop: the launches of 50 steps are captured once, cuBLASLt's among them, and replayed.
// Change  Rung 01 in a CUDA graph.
// Buys    A launch in a graph costs 0.7 to 1.0 us where one in a stream costs 3: 14 of them 10 to 14 us instead of 40.
//         Nothing at H = 8192, where a step is 390 us of memory traffic anyhow.
// Limits  14 dependent kernels, each of which fills and drains the device; the gradient's way through memory.
#define IN_GRAPH 1
#include "01_library.cu"
