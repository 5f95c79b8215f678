// What the probes of kernels share: launches, times, lines of a table.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CUDA(call) check(call, #call)
static void check(cudaError_t code, const char *call) {
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(code));
    exit(1);
}

struct launch_of_probe_t {
    const void *kernel;
    unsigned blocks, threads, shared, cluster;  // 0: no clusters
    bool cooperative;
};

static void launch(const launch_of_probe_t &of, void **arguments) {
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(of.blocks), config.blockDim = dim3(of.threads), config.dynamicSmemBytes = of.shared;
    config.attrs = attributes;
    if (of.cooperative) {
        attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
        attributes[config.numAttrs++].val.cooperative = 1;
    }
    if (of.cluster > 0) {
        attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
        attributes[config.numAttrs].val.clusterDim.x = of.cluster;
        attributes[config.numAttrs].val.clusterDim.y = attributes[config.numAttrs].val.clusterDim.z = 1;
        config.numAttrs++;
    }
    CUDA(cudaLaunchKernelExC(&config, of.kernel, arguments));
}

static void prepare(const launch_of_probe_t &of) {
    CUDA(cudaFuncSetAttribute(of.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)of.shared));
    CUDA(cudaFuncSetAttribute(of.kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
}

// The least of seven launches, in us; `before` resets what the kernel counts.
template <class Before> static double least_us(const launch_of_probe_t &of, void **arguments, Before before) {
    cudaEvent_t start, end;
    float least = 1e30f, ms;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&end));
    for (int i = 0; i < 7; i++) {
        before();
        CUDA(cudaEventRecord(start));
        launch(of, arguments);
        CUDA(cudaEventRecord(end));
        CUDA(cudaEventSynchronize(end));
        CUDA(cudaEventElapsedTime(&ms, start, end));
        least = ms < least ? ms : least;
    }
    CUDA(cudaEventDestroy(start));
    CUDA(cudaEventDestroy(end));
    return least * 1e3;
}

// By two lengths of the same probe, so that launches cancel.
template <class Before>
static double each_us(const launch_of_probe_t &of, void **arguments, unsigned *n, Before before) {
    *n = 200;
    const double few = least_us(of, arguments, before);
    *n = 1200;
    return (least_us(of, arguments, before) - few) / 1000;
}

static void row(const char *group, const char *what, double value, const char *unit) {
    printf("%-10s | %-58s | %9.3f %s\n", group, what, value, unit);
    fflush(stdout);
}

static void *zeros(size_t bytes) {
    void *memory;
    CUDA(cudaMalloc(&memory, bytes));
    CUDA(cudaMemset(memory, 0, bytes));
    return memory;
}
