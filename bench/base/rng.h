/* Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11). It is
 * counter-based, so C, CUDA and NumPy produce the same bits at any position without state. The
 * tests of both languages check the known-answer vectors of the authors' Random123. */
#ifndef BENCH_BASE_RNG_H
#define BENCH_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

/* Numbers that nobody can know before. */

/* From the system's random source: 1 … 2^53 - 1, which JSON holds exactly. */
uint64_t secret_seed(void);

void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Each array of a case has its own stream. Element i of a stream is word i % 4 of the block with
 * counter {i / 4 low, i / 4 high, stream, 0} and key {seed low, seed high}. */
uint32_t rng_word(uint64_t seed, uint32_t stream, uint64_t index);

typedef struct rng_position {
    uint64_t seed;
    uint32_t stream;
    uint64_t first; /* index of an element of the stream */
} rng_position_t;

/* `n` elements of a stream. */
void rng_words(uint32_t *words, size_t n, rng_position_t from);

/* `n` elements of a stream as uniform float32 in [low, high):
 * (word >> 8) · 2^-24 · (high − low) + low, each operation rounded to float32, in that order: the
 * same bits in every language. If low is far from 0, the last rounding can give `high` itself. */
void rng_fill_uniform(float *values, size_t n, rng_position_t from, float low, float high);

/* A permutation of 0 … n-1 for the order of rounds, by Fisher–Yates: for i from n-1 down to 1, swap element i with element
 * rng_word(seed, stream, i) % (i + 1). */
void rng_permutation(uint32_t *order, size_t n, uint64_t seed, uint32_t stream);

/* SplitMix64's output for the state `bits` (Steele et al., "Fast splittable pseudorandom number generators", OOPSLA'14): a
 * bijection, so that other bits make other keys. */
uint64_t rng_mix(uint64_t bits);

/* 64 bits of the system's random source: what must not be guessed. */
uint64_t rng_secret(void);

#endif
