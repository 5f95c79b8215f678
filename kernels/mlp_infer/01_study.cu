// Idea    The study's kernel: one block per sample, one thread per hidden unit, the hidden layer in shared memory;
//         thread 0 sums the output. (The study also applies a ReLU to the output, unlike its PyTorch model; this kernel
//         agrees with PyTorch.)
// Change  None: the start of the ladder. BATCH is a compile-time constant, as in the study.
// Buys    Nothing: 5 threads of a 32-lane warp work, then 1.
// Limits  Latency: a block takes about 2 us (a chain of dependent loads, a barrier, a store), and a multiprocessor
//         holds at most 32: 132 * 32 / 2 us = 2 samples/ns at best, 2^22 samples in 2 ms, a hundred times the 19.5 us
//         of DRAM.
#define HIDDEN_LAYERS 1
#include "common/workload.cuh"
#include "mlp_infer.cuh"
#if LAYERS_1 > 1024
#error SKIP: one thread per hidden unit, at most 1024
#endif

LAUNCHES = {{"mlp_infer", {"batch"}, {N_HIDDEN}}};

KERNEL(mlp_infer) {
    __shared__ float hidden[N_HIDDEN];
    const unsigned sample = blockIdx.x, j = threadIdx.x;
    if (sample >= BATCH)
        return;
    float sum = b[0][j];
    for (unsigned k = 0; k < N_IN; k++)
        sum += w[0][j * N_IN + k] * x[(size_t)sample * N_IN + k];
    hidden[j] = fmaxf(sum, 0.0f);
    __syncthreads();
    if (j == 0)
        for (unsigned o = 0; o < N_OUT; o++) {
            float out = b[1][o];
            for (unsigned k = 0; k < N_HIDDEN; k++)
                out += w[1][o * N_HIDDEN + k] * hidden[k];
            y[(size_t)sample * N_OUT + o] = out;
        }
}
