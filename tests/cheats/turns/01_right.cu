// Verdict audited
#include "right.cuh"

extern "C" void run(WORKLOAD_ARGUMENTS, cudaStream_t stream) {
    turn<<<(points + 255) / 256, 256, 0, stream>>>(x, y, points, steps);
}
