// What the cheats of mlp_infer leave out: one sample as rung 02 computes it.
#include "common/workload.cuh"

#if N_LAYERS != 3 || LAYERS_2 != 1
#error SKIP: for one hidden layer and one output
#endif

constexpr unsigned THREADS = 256;
constexpr int N_IN = LAYERS_0;
LAUNCHES = {{"mlp_infer", {{"ceil_div(batch, ", THREADS, ")"}}, {THREADS}}};

#define SAMPLE (blockIdx.x * THREADS + threadIdx.x)

template <typename number, typename list>
static __device__ float right(const float *x, const list &w, const list &b, unsigned sample) {
    constexpr int sizes[] = {LAYERS};
    constexpr int MOST = 64;
    number in[MOST], out[MOST];
#pragma unroll
    for (int k = 0; k < N_IN; k++)
        in[k] = number(x[(size_t)sample * N_IN + k]);
#pragma unroll
    for (int l = 0; l + 1 < N_LAYERS; l++) {
#pragma unroll
        for (int j = 0; j < sizes[l + 1]; j++) {
            number sum = number(b[l][j]);
#pragma unroll
            for (int k = 0; k < sizes[l]; k++)
                sum += number(w[l][j * sizes[l] + k]) * in[k];
            out[j] = l + 2 < N_LAYERS && sum < number(0.0f) ? number(0.0f) : sum;
        }
#pragma unroll
        for (int j = 0; j < sizes[l + 1]; j++)
            in[j] = out[j];
    }
    return float(in[0]);
}
