// Verdict wrong
// Keeps the result of the first launch in memory of its own, and copies it in all others.
#include "right.cuh"

__device__ float kept[1 << 24];
__device__ bool is_kept[1 << 24];

KERNEL(mlp_infer) {
    const unsigned sample = SAMPLE;
    if (sample >= batch)
        return;
    if (!is_kept[sample])
        kept[sample] = right<float>(x, w, b, sample);
    is_kept[sample] = true;
    y[sample] = kept[sample];
}
