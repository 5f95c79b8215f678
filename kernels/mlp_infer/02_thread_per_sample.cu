// Idea    One thread per sample; the hidden layer stays in registers.
// Change  256 samples per block instead of one: no shared memory, no barrier, all 32 lanes busy.
// Buys    The block rate is no longer the limit. Lane i reads x[4i … 4i+3] in four 4-byte loads, 16 bytes apart: each
//         32-byte sector is fetched once, then hit in the L1, so DRAM moves 20 bytes per sample: 2^22 samples = 84 MB,
//         19.5 us at 4.3 TB/s. Expect 60-80 % of that: four load instructions instead of one, and 31 weights re-read
//         from the L1 by every thread.
// Limits  Load instructions and L1 traffic. Works for any number and size of layers.
#include "common/workload.cuh"
#include "mlp_infer.cuh"

constexpr unsigned THREADS = 256;
LAUNCHES = {{"mlp_infer", {{"ceil_div(batch, ", THREADS, ")"}}, {THREADS}}};

__host__ __device__ constexpr int largest() {
    const int sizes[] = {LAYERS};
    int most = 0;
    for (int size : sizes)
        most = size > most ? size : most;
    return most;
}
constexpr int LARGEST = largest();

KERNEL(mlp_infer) {
    const unsigned sample = blockIdx.x * THREADS + threadIdx.x;
    if (sample >= (unsigned)batch)
        return;
    constexpr int sizes[] = {LAYERS};
    float in[LARGEST], out[LARGEST];
#pragma unroll
    for (int k = 0; k < sizes[0]; k++)
        in[k] = x[(size_t)sample * sizes[0] + k];
#pragma unroll
    for (int l = 0; l < N_LAYERS - 1; l++) {
#pragma unroll
        for (int j = 0; j < sizes[l + 1]; j++) {
            float sum = b[l][j];
#pragma unroll
            for (int k = 0; k < sizes[l]; k++)
                sum += w[l][j * sizes[l] + k] * in[k];
            out[j] = l + 2 < N_LAYERS ? fmaxf(sum, 0.0f) : sum;
        }
#pragma unroll
        for (int j = 0; j < sizes[l + 1]; j++)
            in[j] = out[j];
    }
#pragma unroll
    for (int o = 0; o < sizes[N_LAYERS - 1]; o++)
        y[(size_t)sample * sizes[N_LAYERS - 1] + o] = in[o];
}
