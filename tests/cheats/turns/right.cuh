#include "common/workload.cuh"

__global__ void turn(const float *x, float *y, size_t points, size_t steps) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= points)
        return;
    float a = x[i], b = x[i];
    for (size_t step = 0; step < steps; step++) {
        const float turned = 0.96f * a - 0.28f * b;
        b = 0.28f * a + 0.96f * b;
        a = turned;
    }
    y[i] = a;
}
