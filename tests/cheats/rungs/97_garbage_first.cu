// Verdict wrong
// Writes something at once, for a host that polls the output, and the result later.
#include "right.cuh"

KERNEL(mlp_infer) {
    const unsigned sample = SAMPLE;
    if (sample >= batch)
        return;
    *(volatile float *)(y + sample) = 1;
    __threadfence_system();
    for (int i = 0; i < 100; i++)
        __nanosleep(1000);
    y[sample] = right<float>(x, w, b, sample);
}
