// Where an epoch of linreg_train's rung 08 spends its time; docs/on-chip.md has predictions beside the results.
//     nvcc -arch=sm_90a -std=c++17 -O3 -DN_TRAIN=400000 -o build/linreg_probes tests/tools/linreg_probes.cu
//     build/linreg_probes
// -DSTAMPED: how long each stage takes.
#include "probe.cuh"

#ifndef N_TRAIN
#define N_TRAIN 400000
#endif
#define LOSS_EVERY 10
#ifndef __CUDA_ARCH__  // kernels are declared for the host, too
#define __CUDA_ARCH__ 900
#endif
#ifdef STAMPED
enum { AT_START, AT_POINTS, AT_BLOCK_HERE, AT_WORD_SENT, AT_WORDS_HERE, AT_STEP };
#include "stages.cuh"

static const stage_row_t STAGE_ROWS[] = {
    {AT_START, 0, "", 0},
    {AT_POINTS, 0, "points", N_TRAIN > 2000000 ? 0.39 : 0.06},
    {AT_BLOCK_HERE, 0, "barrier of the block", 0.02},
    {AT_WORD_SENT, 0, "sum over the block's threads, word sent", 0.12},
    {AT_WORDS_HERE, 0, "words of all blocks, here", 0.5},
    {AT_STEP, 0, "their sum, step, barrier", 0.13},
};
#endif
#include "../../kernels/linreg_train/08_lean_epochs.cu"

int main() {
    linreg_t p = {};
    p.n = N_TRAIN, p.points = N_TRAIN, p.gain = 1e-9, p.inverse_n = 1.0 / N_TRAIN;
    p.x = (float *)zeros(N_TRAIN * sizeof(float)), p.y = (float *)zeros(N_TRAIN * sizeof(float));
    p.state = (linreg_state *)zeros(sizeof(linreg_state));
    p.results = (double *)zeros(4096 * sizeof(double));
    unsigned part = 0;
    void *arguments[] = {&p, &part};
    const launch_of_probe_t of = {(const void *)train, BLOCKS, THREADS,
                                  (unsigned)(SHARED_PAIRS * THREADS * sizeof(float4)), 0, true};
    prepare(of);
    const double us = each_us(of, arguments, &p.epochs, [] {});
    row("epoch", "complete", us, "us");
#ifdef STAMPED
    print_stages(of, arguments, p.epochs, us, STAGE_ROWS, sizeof STAGE_ROWS / sizeof *STAGE_ROWS);
#endif
    return 0;
}
