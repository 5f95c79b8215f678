// Measures the parts of a training whose weights stay on the chip; docs/on-chip.md has predictions beside the results.
//     nvcc -arch=sm_90a -std=c++17 -O3 -Ikernels -DHIDDEN=1024 -o build/on_chip_probes tests/tools/on_chip_probes.cu
//     build/on_chip_probes
// Prints a table, one line per probe; compiled with -DSTAMPED, how long each stage of a step takes. It needs a GPU with clusters (sm_90) and 128 multiprocessors.
#include "probe.cuh"
#include <cooperative_groups.h>
#include <cuda_fp16.h>

#ifndef HIDDEN
#define HIDDEN 1024
#endif
#include "mnist_workload.cuh"
#ifdef STAMPED
#include "on_chip_stages.cuh"
#endif
#include "../../kernels/mnist_train/06_on_chip.cu"

#include "mnist_problem.cuh"
#include "on_chip_step.cuh"
#include "on_chip_transports.cuh"

#include "on_chip_latency.cuh"
template <transport T, unsigned OUT, unsigned BACK> static void exchange_row(exchange_memory_t *m) {
    static const char *const NAMES[TRANSPORTS] = {"bit of each word", "word and flag", "flag after data", "own barrier",
                                                  "grid.sync()"};
    const launch_of_probe_t of = {(const void *)exchange_rounds<T, OUT, BACK>, EXCHANGE_BLOCKS, EXCHANGE_THREADS,
                                  180 * 1024, 0, true};
    unsigned rounds;
    void *arguments[] = {&m, &rounds};
    char what[80];
    prepare(of);
    const double us = each_us(of, arguments, &rounds, [&] {
        CUDA(cudaMemset(m, 0xFF, sizeof *m));
        CUDA(cudaMemset(m->flags, 0, sizeof m->flags + sizeof m->arrivals));
    });
    snprintf(what, sizeof what, "%s, 16 x %u B out, 16 x %u B back", NAMES[T], OUT * 16, BACK * 16);
    row("exchange", what, us, "us a round");
}

template <transport T> static void exchange_rows(exchange_memory_t *m) {
    exchange_row<T, 1, 1>(m);
    exchange_row<T, 32, 1>(m);   // activations of 1024 neurons
    exchange_row<T, 64, 1>(m);   // of 2048
    exchange_row<T, 1, 64>(m);   // sums of deltas of 1024
    exchange_row<T, 1, 128>(m);  // of 2048
}

template <unsigned N, cluster_probe WHAT, unsigned BYTES> static void cluster_row(float4 *result, unsigned clusters) {
    static const char *const NAMES[] = {"barrier", "sums, a part to each", "gather, all to each"};
    const launch_of_probe_t of = {(const void *)cluster_rounds<N, WHAT, BYTES>,
                                  N * (clusters < 128 / N ? clusters : 128 / N), EXCHANGE_THREADS, 180 * 1024, N,
                                  false};
    unsigned rounds;
    void *arguments[] = {&result, &rounds};
    char what[80];
    prepare(of);
    snprintf(what, sizeof what, "%u blocks, %s, %u B", N, NAMES[WHAT], BYTES);
    row("cluster", what, each_us(of, arguments, &rounds, [] {}), "us a round");
}

template <unsigned N> static void cluster_rows(float4 *result) {
    const launch_of_probe_t of = {(const void *)cluster_rounds<N, CLUSTER_BARRIER, 0>, 128, EXCHANGE_THREADS, 180 * 1024,
                                  N, false};
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    int clusters;
    prepare(of);
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = N, attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(N), config.blockDim = dim3(EXCHANGE_THREADS), config.dynamicSmemBytes = of.shared;
    config.attrs = &attribute, config.numAttrs = 1;
    CUDA(cudaOccupancyMaxActiveClusters(&clusters, of.kernel, &config));
    char what[80];
    snprintf(what, sizeof what, "clusters of %u, one block per multiprocessor", N);
    row("cluster", what, clusters, "resident");
    if (clusters == 0)
        return;
    cluster_row<N, CLUSTER_BARRIER, 0>(result, clusters);
    cluster_row<N, REDUCE_SCATTER, 8192>(result, clusters);
    cluster_row<N, REDUCE_SCATTER, 16384>(result, clusters);
    cluster_row<N, ALL_GATHER, 512>(result, clusters);
    cluster_row<N, ALL_GATHER, 1024>(result, clusters);
}

template <product WHAT> static void product_row(const mnist_t &p, long long *clocks, const char *name) {
    const launch_of_probe_t of = {(const void *)products<WHAT>, 1, THREADS, sizeof(shared_t), 0, false};
    mnist_t argument = p;
    unsigned n = 1000;
    void *arguments[] = {&argument, &clocks, &n};
    long long taken;
    prepare(of);
    for (int i = 0; i < 3; i++)
        launch(of, arguments);
    CUDA(cudaMemcpy(&taken, clocks, sizeof taken, cudaMemcpyDeviceToHost));
    row("product", name, (double)taken / n, "clocks");
}

template <left_out WITHOUT> static void step_row(mnist_t p, const char *name) {
    const launch_of_probe_t of = {(const void *)steps<WITHOUT>, BLOCKS, THREADS, sizeof(shared_t), 0, true};
    void *arguments[] = {&p};
    prepare(of);
    row("step", name, each_us(of, arguments, &p.steps, [&] { CUDA(cudaMemset(p.counters, 0, 256)); }), "us a step");
}

#ifdef STAMPED
int main() {
    mnist_t p = problem();
    const launch_of_probe_t of = {(const void *)steps<NOTHING>, BLOCKS, THREADS, sizeof(shared_t), 0, true};
    void *arguments[] = {&p};
    prepare(of);
    const auto reset = [&] { CUDA(cudaMemset(p.counters, 0, 256)); };
    const double us = each_us(of, arguments, &p.steps, reset);
    reset();
    print_stages(of, arguments, p.steps, us, STAGE_ROWS, sizeof STAGE_ROWS / sizeof *STAGE_ROWS);
    return 0;
}
#else
int main() {
    latency_rows();
    exchange_memory_t *m = (exchange_memory_t *)zeros(sizeof *m);
    exchange_rows<BIT_OF_WORD>(m);
    exchange_rows<WORD_AND_FLAG>(m);
    exchange_rows<FLAG_AFTER>(m);
    exchange_rows<BARRIER>(m);
    exchange_rows<GRID_SYNC>(m);
    float4 *result = (float4 *)zeros(128 * EXCHANGE_THREADS * sizeof *result);
    cluster_rows<2>(result);
    cluster_rows<4>(result);
    cluster_rows<8>(result);
    cluster_rows<16>(result);
    const mnist_t p = problem();
    long long *clocks = (long long *)zeros(16);
    product_row<FORWARD>(p, clocks, "forward, 16 x 16 weights by ldmatrix");
    product_row<BACKWARD>(p, clocks, "backward, by ldmatrix.trans");
    product_row<UPDATE>(p, clocks, "update in place, ldmatrix and stmatrix");
    product_row<FORWARD_CONFLICTS>(p, clocks, "forward, pieces not permuted");
    product_row<FORWARD_0>(p, clocks, "forward of layer 0, weights in registers");
    product_row<UPDATE_0>(p, clocks, "update of layer 0, weights in registers");
    step_row<NOTHING>(p, "complete");
    step_row<UPDATES>(p, "without updates");
    step_row<UPDATES_AND_PRODUCTS>(p, "without updates and products");
    return 0;
}
#endif
