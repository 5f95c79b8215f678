// Where a step of a rung spends its time: included before the rung, whose STAMP()s then add the clock of each block's
// first thread, over all steps. The difference of two sums is the time between, mean over the steps, with the stamps
// themselves, about 20 clocks each.
#pragma once
#include "probe.cuh"
#include <cstring>

constexpr unsigned STAMP_PARTS = 8, STAMP_SLOTS = 32 * STAMP_PARTS, STAMP_BLOCKS = 132;
__device__ unsigned stamp_sums[STAMP_BLOCKS][STAMP_SLOTS];

// A probe defines AT_START and its other stages, at most 32.
#define STAMP(stage, part) add_stamp(AT_##stage *STAMP_PARTS + (part))
__device__ __forceinline__ void add_stamp(unsigned slot) {
    if (threadIdx.x == 0)
        atomicAdd(&stamp_sums[blockIdx.x][slot], (unsigned)clock());
}

struct stage_row_t {
    unsigned stage, part;
    const char *name;
    double predicted;  // us; 0: none
};

// Of one launch with `n` steps, whose stages are `rows`, in order, and which takes `us` per step.
static void print_stages(const launch_of_probe_t &of, void **arguments, unsigned n, double us, const stage_row_t *rows,
                         unsigned rows_n) {
    static unsigned sums[STAMP_BLOCKS][STAMP_SLOTS];
    memset(sums, 0, sizeof sums);
    CUDA(cudaMemcpyToSymbol(stamp_sums, sums, sizeof sums));
    launch(of, arguments);
    CUDA(cudaMemcpyFromSymbol(sums, stamp_sums, sizeof sums));
    const auto clocks = [&](unsigned block, unsigned from, unsigned to) {  // sums may have wrapped
        return (double)(sums[block][to] - sums[block][from]) / n;
    };
    const auto slot = [&](unsigned i) { return rows[i].stage * STAMP_PARTS + rows[i].part; };
    double whole = 0;
    for (unsigned block = 0; block < of.blocks; block++)
        whole += clocks(block, slot(0), slot(rows_n - 1)) / of.blocks;
    printf("%-44s | %9s | %9s | %9s | %9s\n", "stage, us (first thread of each block)", "predicted", "mean", "least",
           "most");
    for (unsigned i = 1; i < rows_n; i++) {
        double mean = 0, least = 1e30, most = 0;
        for (unsigned block = 0; block < of.blocks; block++) {
            const double value = clocks(block, slot(i - 1), slot(i)) * us / whole;
            mean += value / of.blocks, least = value < least ? value : least, most = value > most ? value : most;
        }
        printf("%-44s | %9.2f | %9.2f | %9.2f | %9.2f\n", rows[i].name, rows[i].predicted, mean, least, most);
    }
    printf("%-44s | %9s | %9.2f | %.0f clocks\n", "whole step", "", us, whole);
}
