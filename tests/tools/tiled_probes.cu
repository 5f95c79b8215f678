// Where a step of mnist_train's 07_tiled_stream spends its time, beside what was predicted (docs/on-chip.md).
//     nvcc -arch=sm_90a -std=c++17 -O3 -Ikernels -DHIDDEN=4096 -o build/tiled_stages tests/tools/tiled_probes.cu
//     build/tiled_stages
// It needs a GPU of sm_90 with 128 multiprocessors.
#include <cuda_fp16.h>

#ifndef HIDDEN
#define HIDDEN 4096
#endif
#include "mnist_workload.cuh"
enum { AT_START, AT_HERE, AT_PRODUCT, AT_ENDED, AT_SOFTMAX, AT_DELTA, AT_UPDATE };
#include "stages.cuh"

#include "../../kernels/mnist_train/07_tiled_stream.cu"

#include "mnist_problem.cuh"

constexpr bool WIDE = HIDDEN > 6000;
constexpr double EXCHANGE = 1.5, ADDED_UP = 0.8, FORWARD_US = WIDE ? 31 : 5.5, BACKWARD_US = WIDE ? 62 : 11.5;

static const stage_row_t STAGE_ROWS[] = {
    {AT_START, 0, "", 0},
    {AT_HERE, FORWARD_1, "activations 1", EXCHANGE},
    {AT_PRODUCT, FORWARD_1, "products 1", FORWARD_US},
    {AT_ENDED, FORWARD_1, "their sums, activations 2 written", ADDED_UP},
    {AT_HERE, FORWARD_2, "activations 2", EXCHANGE},
    {AT_PRODUCT, FORWARD_2, "products 2", FORWARD_US},
    {AT_ENDED, FORWARD_2, "their sums, logits written", ADDED_UP + 0.2},
    {AT_SOFTMAX, 0, "logits, softmax", 2},
    {AT_DELTA, 0, "deltas 2 written", 0.3},
    {AT_UPDATE, 0, "update of the last layer", 0.4},
    {AT_HERE, BACKWARD_2, "deltas 2", EXCHANGE - 0.4},
    {AT_PRODUCT, BACKWARD_2, "products and updates 2", BACKWARD_US},
    {AT_ENDED, BACKWARD_2, "their sums, deltas 1 written", ADDED_UP},
    {AT_HERE, BACKWARD_1, "deltas 1", EXCHANGE},
    {AT_PRODUCT, BACKWARD_1, "products and updates 1", BACKWARD_US},
    {AT_ENDED, BACKWARD_1, "their sums, deltas 0 in the cluster", ADDED_UP + 0.2},
    {AT_HERE, FIRST_LAYER, "images", 0.1},
    {AT_PRODUCT, FIRST_LAYER, "update and products 0", WIDE ? 1.5 : 0.8},
    {AT_ENDED, FIRST_LAYER, "their sums, activations 1 written", ADDED_UP},
};

static __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(BLOCK_THREADS, 1)
    train_problem(const __grid_constant__ mnist_t p) {
    train_of(p);
}

int main() {
    mnist_t p = problem();
    const launch_of_probe_t of = {(const void *)train_problem, BLOCKS, BLOCK_THREADS, SHARED_BYTES, 0, true};
    void *arguments[] = {&p};
    prepare(of);
    const auto reset = [&] { CUDA(cudaMemset(p.counters, 0, 256)); };
    const double us = each_us(of, arguments, &p.steps, reset);
    reset();
    print_stages(of, arguments, p.steps, us, STAGE_ROWS, sizeof STAGE_ROWS / sizeof *STAGE_ROWS);
    return 0;
}
