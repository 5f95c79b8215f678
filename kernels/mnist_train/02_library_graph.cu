// Idea    Take the host out of the loop: all launches of a call, cuBLASLt's included, are captured once and replayed.
// Change  Rung 01 in a CUDA graph.
// Buys    A launch costs 0.7 to 1.0 us in a graph, 3 in a stream. Nothing at H = 8192.
// Limits  17 dependent kernels, each of which fills and drains the device; the gradient's way through memory.
#include <cublasLt.h>

#include "library.cuh"
LAUNCHED_AS_GRAPH;
