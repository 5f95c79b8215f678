#include "base/rng.h"

#include "base/parallel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t secret_seed(void) {
    uint64_t seed;
    do
        seed = rng_secret() >> 11;
    while (seed == 0);
    return seed;
}

/* Contracting x * y + z to a fused operation rounds once instead of twice and changes the bits. gcc
 * does not contract under -std=c11 and does not know the pragma. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

enum { WORDS_PER_BLOCK = 4 };

/* Multipliers and Weyl constants of Philox4x32: Salmon et al., SC'11, table 2 and section 4.3. */
static const uint32_t MULTIPLIER_0 = 0xD2511F53, MULTIPLIER_1 = 0xCD9E8D57;
static const uint32_t WEYL_0 = 0x9E3779B9, WEYL_1 = 0xBB67AE85;

static inline void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
        uint64_t wide_0 = (uint64_t)MULTIPLIER_0 * c0;
        uint64_t wide_1 = (uint64_t)MULTIPLIER_1 * c2;
        c0 = (uint32_t)(wide_1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)wide_1;
        c2 = (uint32_t)(wide_0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)wide_0;
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    philox(counter, key, out);
}

static inline void stream_block(uint64_t seed, uint32_t stream, uint64_t block, uint32_t out[4]) {
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), stream, 0};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    philox(counter, key, out);
}

uint32_t rng_word(uint64_t seed, uint32_t stream, uint64_t index) {
    uint32_t block[WORDS_PER_BLOCK];
    stream_block(seed, stream, index / WORDS_PER_BLOCK, block);
    return block[index % WORDS_PER_BLOCK];
}

WIDEST_VECTORS static void stream_blocks(uint32_t *words, size_t n, uint64_t seed, uint32_t stream,
                                         uint64_t first) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        stream_block(seed, stream, first + i, words + WORDS_PER_BLOCK * i);
}

void rng_words(uint32_t *words, size_t n, rng_position_t from) {
    for (size_t done = 0; done < n;) {
        const uint64_t position = from.first + done, block = position / WORDS_PER_BLOCK;
        const size_t skip = position % WORDS_PER_BLOCK, left = n - done;
        const size_t rest = WORDS_PER_BLOCK - skip, n_blocks = left / WORDS_PER_BLOCK;
        uint32_t one[WORDS_PER_BLOCK];
        if (skip == 0 && n_blocks > 0) {
            stream_blocks(words + done, n_blocks, from.seed, from.stream, block);
            done += n_blocks * WORDS_PER_BLOCK;
            continue;
        }
        const size_t count = left < rest ? left : rest;
        stream_block(from.seed, from.stream, block, one);
        memcpy(words + done, one + skip, count * sizeof *words);
        done += count;
    }
}

WIDEST_VECTORS static void uniform_of(float *values, const uint32_t *words, size_t n, float low,
                                      float width) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) /* 24 bits: vectors have no conversion without sign */
        values[i] = (float)(int32_t)(words[i] >> 8) * 0x1p-24f * width + low;
}

void rng_fill_uniform(float *values, size_t n, rng_position_t from, float low, float high) {
    enum { PART = 1024 };
    const float width = high - low;
    for (size_t done = 0; done < n; done += PART) {
        const size_t count = n - done < PART ? n - done : PART;
        uint32_t words[PART];
        rng_words(words, count, from);
        from.first += count;
        uniform_of(values + done, words, count, low, width);
    }
}

void rng_permutation(uint32_t *order, size_t n, uint64_t seed, uint32_t stream) {
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (size_t i = n; i-- > 1;) {
        size_t j = rng_word(seed, stream, i) % (i + 1);
        uint32_t moved = order[i];
        order[i] = order[j];
        order[j] = moved;
    }
}

uint64_t rng_mix(uint64_t bits) {
    bits += 0x9E3779B97F4A7C15;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
    return bits ^ bits >> 31;
}

uint64_t rng_secret(void) {
    uint64_t secret;
    if (getentropy(&secret, sizeof secret) != 0) {
        perror("bench: the system gives no random numbers");
        exit(EXIT_FAILURE);
    }
    return secret;
}
