// Verdict wrong
// Computes in every 64th launch. Sample 0 counts the launches.
#include "right.cuh"

__device__ unsigned counts[1 << 16];

KERNEL(mlp_infer) {
    const unsigned sample = SAMPLE;
    __shared__ bool works;
    if (threadIdx.x == 0)
        works = counts[blockIdx.x]++ % 64 == 0;
    __syncthreads();
    if (works && sample < batch)
        y[sample] = right<float>(x, w, b, sample);
}
