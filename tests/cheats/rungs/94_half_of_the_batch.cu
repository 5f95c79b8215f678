// Verdict wrong
// Leaves every other sample as it was.
#include "right.cuh"

MLP_INFER {
    const unsigned sample = SAMPLE;
    if (sample < batch && sample % 2 == 0)
        y[sample] = right<float>(x, p, sample);
}
