// Probes of docs/on-chip.md: what a load that other blocks' stores are visible to costs, and code that is executed once
// per step, so that no instruction is in the nearest cache.
#pragma once
#include "probe.cuh"

// Dependent loads of one thread.
__global__ void load_latency(const unsigned *zero, unsigned loads, long long *clocks) {
    unsigned at = 0;
    const long long start = clock64();
    for (unsigned i = 0; i < loads; i++)
        at = load_relaxed(zero + at);
    clocks[0] = clock64() - start + at;
}

// Two blocks, a store and its answer.
__global__ void hop_latency(unsigned *words, unsigned rounds, long long *clocks) {
    const long long start = clock64();
    for (unsigned i = 1; i <= rounds; i++) {
        if (blockIdx.x == 0)
            store_relaxed(words, i);
        while (load_relaxed(words + (1 - blockIdx.x) * 1024) != i)
            ;
        if (blockIdx.x == 1)
            store_relaxed(words + 1024, i);
    }
    if (blockIdx.x == 0)
        clocks[0] = clock64() - start;
}

// INSTRUCTIONS of straight-line code, eight warps of one block; four chains a thread, so that a scheduler with two warps
// could issue one per clock.
template <unsigned INSTRUCTIONS>
__global__ void __launch_bounds__(256, 1) straight_line(float *result, unsigned rounds, long long *clocks) {
    float v[4] = {result[0], result[1], result[2], result[3]};
    __syncthreads();
    const long long start = clock64();
#pragma unroll 1
    for (unsigned i = 0; i < rounds; i++)
#pragma unroll
        for (unsigned k = 0; k < INSTRUCTIONS; k++)
            asm volatile("fma.rn.f32 %0, %0, %0, %1;" : "+f"(v[k % 4]) : "f"(v[(k + 1) % 4]));
    __syncthreads();
    if (threadIdx.x == 0)
        clocks[0] = clock64() - start;
    result[threadIdx.x] = v[0] + v[1] + v[2] + v[3];
}

static double clocks_of(const launch_of_probe_t &of, void **arguments, const long long *clocks) {
    long long taken;
    for (int i = 0; i < 3; i++)
        launch(of, arguments);
    CUDA(cudaMemcpy(&taken, clocks, sizeof taken, cudaMemcpyDeviceToHost));
    return (double)taken;
}

template <unsigned KILOBYTES> static void straight_line_row(float *result, long long *clocks) {
    constexpr unsigned INSTRUCTIONS = KILOBYTES * 64;
    unsigned rounds = 100;
    void *arguments[] = {&result, &rounds, &clocks};
    const launch_of_probe_t of = {(const void *)straight_line<INSTRUCTIONS>, 1, 256, 0, 0, false};
    char what[80];
    snprintf(what, sizeof what, "%u KB of straight-line code (predicted 2.0)", KILOBYTES);
    row("code", what, clocks_of(of, arguments, clocks) / rounds / INSTRUCTIONS, "clocks a warp's instruction");
}

static void latency_rows() {
    unsigned *words = (unsigned *)zeros(8192), n = 1000;
    long long *clocks = (long long *)zeros(16);
    void *arguments[] = {&words, &n, &clocks};
    row("latency", "a relaxed load, in the L2 (predicted 600)",
        clocks_of({(const void *)load_latency, 1, 1, 0, 0, false}, arguments, clocks) / n, "clocks");
    const launch_of_probe_t hops = {(const void *)hop_latency, 2, 1, 0, 0, true};
    long long taken;
    CUDA(cudaMemset(words, 0, 8192));
    launch(hops, arguments);
    CUDA(cudaMemcpy(&taken, clocks, sizeof taken, cudaMemcpyDeviceToHost));
    row("latency", "store, and load until it is there (predicted 1,250)", (double)taken / n / 2, "clocks a hop");
    float *result = (float *)zeros(1024);
    straight_line_row<4>(result, clocks);
    straight_line_row<16>(result, clocks);
    straight_line_row<32>(result, clocks);
    straight_line_row<64>(result, clocks);
    straight_line_row<96>(result, clocks);
    straight_line_row<128>(result, clocks);
}
