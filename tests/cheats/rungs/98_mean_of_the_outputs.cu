// Verdict wrong
// Answers the same for every sample, about the mean of the outputs.
#include "right.cuh"

KERNEL(mlp_infer) {
    if (SAMPLE < batch)
        y[SAMPLE] = b[N_LAYERS - 2][0];
}
