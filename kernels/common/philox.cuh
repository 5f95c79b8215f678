// Philox4x32-10 (Salmon et al., SC'11) with the counter and key of bench/base/rng.h, bit for bit. A test compiles this
// file for the host, so it uses only what C and CUDA C++ share.
#pragma once

// Words 4 * block … 4 * block + 3 of a stream.
__device__ __forceinline__ void philox_block(unsigned long long seed, unsigned stream, unsigned long long block,
                                             unsigned word[4]) {
    unsigned c0 = (unsigned)block, c1 = (unsigned)(block >> 32), c2 = stream, c3 = 0;
    unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        const unsigned long long wide_0 = 0xD2511F53ull * c0, wide_1 = 0xCD9E8D57ull * c2;
        c0 = (unsigned)(wide_1 >> 32) ^ c1 ^ k0;
        c1 = (unsigned)wide_1;
        c2 = (unsigned)(wide_0 >> 32) ^ c3 ^ k1;
        c3 = (unsigned)wide_0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    word[0] = c0;
    word[1] = c1;
    word[2] = c2;
    word[3] = c3;
}

// Uniform in [low, high). Each operation is rounded: a fused one would change the bits.
__device__ __forceinline__ float philox_uniform(unsigned word, float low, float high) {
    const float unit = __fmul_rn((float)(word >> 8), 1.0f / 16777216.0f);
    return __fadd_rn(__fmul_rn(unit, __fsub_rn(high, low)), low);
}
