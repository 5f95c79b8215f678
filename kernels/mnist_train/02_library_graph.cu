// Idea    Take the host out of the loop: all launches of a call, cuBLASLt's included, are captured once and replayed.
// Change  Rung 01 in a CUDA graph.
// Buys    A launch costs 0.7 to 1.0 us in a graph, 3 in a stream: 17 of them 12 to 17 us instead of 50;
//         measured 50 instead of 85 at H = 128. Nothing at H = 8192, where a step is 390 us of memory traffic.
// Limits  17 dependent kernels, each of which fills and drains the device; the gradient's way through memory.
#if !__has_include(<cublasLt.h>)
#error SKIP: needs cublasLt.h, of the CUDA toolkit
#else
#include <cublasLt.h>

#include "library.cuh"
LAUNCHED_AS_GRAPH;
#endif
