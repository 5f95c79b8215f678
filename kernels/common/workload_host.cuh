// Included before a rung with host code of its own, which is compiled by nvcc to a shared object: run() gets the arguments
// of a kernel (workload.cuh), in device memory, and a stream, does its work there without waiting for it, and leaves the
// inputs alone. It is called once before it is captured into a CUDA graph: handles and memory that it keeps are made then.
#pragma once
#define WORKLOAD_HOST
#include "workload.cuh"

#undef WORKSPACE
// As in workload.cuh:   WORKSPACE = "8 * sm_count";
#define WORKSPACE                                                                                                      \
    extern "C" const char workspace_bytes[64];                                                                         \
    const char workspace_bytes[64]

#undef LAUNCHED_AS_GRAPH
// As in workload.cuh:   LAUNCHED_AS_GRAPH;
#define LAUNCHED_AS_GRAPH                                                                                              \
    extern "C" const unsigned char launched_as_graph;                                                                  \
    const unsigned char launched_as_graph = 1

extern "C" void run(WORKLOAD_ARGUMENTS, cudaStream_t stream);

// What the host calls. Returns what the runtime complains about, or nothing.
extern "C" const char *workload_run(void *const *arguments, void *stream) {
    run(WORKLOAD_CALL, static_cast<cudaStream_t>(stream));
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}
