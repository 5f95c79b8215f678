// Verdict wrong
// Leaves every other sample as it was.
#include "right.cuh"

KERNEL(mlp_infer) {
    const unsigned sample = SAMPLE;
    if (sample < batch && sample % 2 == 0)
        y[sample] = right<float>(x, w, b, sample);
}
