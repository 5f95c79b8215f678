// Idea    Hide DRAM latency with more independent loads: each thread computes four samples, with four 16-byte loads in
//         flight. Outputs bypass the caches: the kernel does not read them again.
// Change  Four samples per thread, one block width apart, so every load of a warp still covers 512 consecutive bytes;
//         streaming stores (st.global.cs).
// Buys    By Little's law 4.3 TB/s at about 800 ns need 3.4 MB in flight, 26 KB per multiprocessor; one load per thread
//         gives 2048 * 16 B = 32 KB only while all warps wait, four leave room to compute. Expect the copy rate: 2^22
//         samples = 84 MB in 19.5 us. Measured slower: streaming loads (ld.global.cs) from 2^23 on, 92 % of an H200's
//         copy rate instead of 98-101 %; a grid of 6 or 8 blocks per multiprocessor that loops over the batch, 85-90 %.
// Limits  DRAM. Remaining gains are on the host: allocation, copies, launch.
#define HIDDEN_LAYERS 1
#include "common/by_value.cuh"
#include "mlp_infer.cuh"
#if LAYERS_0 != 4 || LAYERS_2 != 1
#error SKIP: needs 4 inputs (one 16-byte load) and 1 output
#endif

#ifndef COUNT // rung 06: a constant
#define COUNT (unsigned)batch
#endif

constexpr unsigned THREADS = 256, SAMPLES = 4;
LAUNCHES = {{"mlp_infer", {{"ceil_div(batch, ", THREADS * SAMPLES, ")"}}, {THREADS}}};

KERNEL(mlp_infer) {
    const unsigned first = blockIdx.x * THREADS * SAMPLES + threadIdx.x;
    float4 in[SAMPLES];
#pragma unroll
    for (unsigned s = 0; s < SAMPLES; s++)
        if (first + s * THREADS < COUNT)
            in[s] = __ldg(reinterpret_cast<const float4 *>(x) + first + s * THREADS);
#pragma unroll
    for (unsigned s = 0; s < SAMPLES; s++) {
        float out = b[1][0];
#pragma unroll
        for (unsigned j = 0; j < N_HIDDEN; j++) {
            const float *v = w[0] + j * N_IN;
            const float sum = b[0][j] + v[0] * in[s].x + v[1] * in[s].y + v[2] * in[s].z + v[3] * in[s].w;
            out += w[1][j] * fmaxf(sum, 0.0f);
        }
        if (first + s * THREADS < COUNT)
            __stcs(y + first + s * THREADS, out);
    }
}
