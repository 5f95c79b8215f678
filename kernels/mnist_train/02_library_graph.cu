// Idea    Take the host out of the loop: the launches of 50 steps, cuBLASLt's included, are captured once and replayed.
// Change  Rung 01 in a CUDA graph.
// Buys    A launch costs 0.7 to 1.0 us in a graph, 3 in a stream: 14 of them 10 to 14 us instead of 40. Nothing at H =
//         8192, where a step is 390 us of memory traffic.
// Limits  14 dependent kernels, each of which fills and drains the device; the gradient's way through memory.
#define IN_GRAPH 1
#include "01_library.cu"
