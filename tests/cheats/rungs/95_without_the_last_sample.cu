// Verdict wrong
// Leaves out one sample of millions.
#include "right.cuh"

KERNEL(mlp_infer) {
    const unsigned sample = SAMPLE;
    if (sample + 1 < batch)
        y[sample] = right<float>(x, w, b, sample);
}
