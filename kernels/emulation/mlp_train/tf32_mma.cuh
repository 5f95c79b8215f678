// kernels/mlp_train/tf32_mma.cuh on the host (PTX ISA, "Matrix Fragments for mma.m16n8k8").
#pragma once
#include "host_cuda.h"

// Tensor cores ignore the last 13 bits.
inline float tf32_of(unsigned word) {
    return __uint_as_float(word & 0xFFFFE000);
}

inline unsigned to_tf32(float value) {
    return __float_as_uint(value) + 0x1000;
}

struct tf32_fragments_t {
    unsigned a[4], b[2];
};
struct tf32_sums_t {
    float of[4];
};

inline void multiply_add(float *d, const unsigned (&a)[4], const unsigned (&b)[2]) {
    const tf32_fragments_t own = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
    const unsigned g = running % 32 / 4, t = threadIdx.x % 4;
    const tf32_sums_t added = exchange(own, [&](auto of_lane) {
        tf32_sums_t sums = {};
        for (unsigned i = 0; i < 4; i++)
            for (unsigned k = 0; k < 8; k++) {
                const tf32_fragments_t row = of_lane(g * 4 + k % 4), column = of_lane((2 * t + i % 2) * 4 + k % 4);
                sums.of[i] += tf32_of(row.a[i / 2 + k / 4 * 2]) * tf32_of(column.b[k / 4]);
            }
        return sums;
    });
    for (unsigned i = 0; i < 4; i++)
        d[i] += added.of[i];
}
