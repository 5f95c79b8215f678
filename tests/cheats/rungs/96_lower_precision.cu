// Verdict wrong
// Computes in float16 what is asked for in float32.
#include <cuda_fp16.h>

#include "right.cuh"

KERNEL(mlp_infer) {
    const unsigned sample = SAMPLE;
    if (sample < batch)
        y[sample] = right<__half>(x, w, b, sample);
}
