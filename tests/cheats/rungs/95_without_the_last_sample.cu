// Verdict wrong
// Leaves out one sample of millions.
#include "right.cuh"

MLP_INFER {
    const unsigned sample = SAMPLE;
    if (sample + 1 < batch)
        y[sample] = right<float>(x, p, sample);
}
