// Where an epoch of linreg_train's rung 08 spends its time; docs/on-chip.md has predictions beside the results.
//     nvcc -arch=sm_90a -std=c++17 -O3 -Ikernels -DPOINTS=500000 -o build/linreg_probes tests/tools/linreg_probes.cu
//     build/linreg_probes
// -DSTAMPED: how long each stage takes.
#include "probe.cuh"

#ifndef POINTS
#define POINTS 500000
#endif
#define WORKLOAD_TYPES typedef float T;
#define WORKLOAD_ARGUMENTS                                                                                      \
    const T *x, const T *y, T *line, float *loss, unsigned char *workspace, double rate, double inverse_n,       \
        long long points, long long epochs WORKLOAD_STEP
#ifndef __CUDA_ARCH__  // kernels are declared for the host, too
#define __CUDA_ARCH__ 900
#endif
#ifdef STAMPED
enum { AT_START, AT_POINTS, AT_BLOCK_HERE, AT_WORD_SENT, AT_WORDS_HERE, AT_STEP };
#include "stages.cuh"

static const stage_row_t STAGE_ROWS[] = {
    {AT_START, 0, "", 0},
    {AT_POINTS, 0, "points", POINTS > 2500000 ? 0.39 : 0.06},
    {AT_BLOCK_HERE, 0, "barrier of the block", 0.02},
    {AT_WORD_SENT, 0, "sum over the block's threads, word sent", 0.12},
    {AT_WORDS_HERE, 0, "words of all blocks, here", 0.5},
    {AT_STEP, 0, "their sum, step, barrier", 0.13},
};
#endif
#include "../../kernels/linreg_train/08_lean_epochs.cu"

int main() {
    float *x = (float *)zeros(N_TRAIN * sizeof(float)), *y = (float *)zeros(N_TRAIN * sizeof(float));
    float *line = (float *)zeros(2 * sizeof(float)), *loss = (float *)zeros(4096 * sizeof(float));
    unsigned char *workspace = nullptr;
    double rate = 1e-9, inverse_n = 1.0 / N_TRAIN;
    long long points = POINTS;
    union { // each_us() sets an unsigned number
        long long all;
        unsigned n;
    } epochs = {0};
    int step = 0;
    void *arguments[] = {&x, &y, &line, &loss, &workspace, &rate, &inverse_n, &points, &epochs, &step};
    const launch_of_probe_t of = {(const void *)train, BLOCKS, THREADS,
                                  (unsigned)(SHARED_PAIRS * THREADS * sizeof(float4)), 0, true};
    prepare(of);
    const double us = each_us(of, arguments, &epochs.n, [] {});
    row("epoch", "complete", us, "us");
#ifdef STAMPED
    print_stages(of, arguments, epochs.n, us, STAGE_ROWS, sizeof STAGE_ROWS / sizeof *STAGE_ROWS);
#endif
    return 0;
}
