// Verdict wrong
// Answers the same for every sample, about the mean of the outputs.
#include "right.cuh"

MLP_INFER {
    if (SAMPLE < batch)
        y[SAMPLE] = p.b[N_LAYERS - 1][0];
}
