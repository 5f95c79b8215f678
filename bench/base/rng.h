/* Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11): counter
 * based, so C, CUDA and NumPy make the same bits at any position without state. Known-answer
 * vectors of the authors' Random123 are in the tests of both languages. */
#ifndef BENCH_BASE_RNG_H
#define BENCH_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Streams keep the arrays of one case apart. Element i of a stream is word i % 4 of the block with
 * counter {i / 4 low, i / 4 high, stream, 0} and key {seed low, seed high}. */
uint32_t rng_word(uint64_t seed, uint32_t stream, uint64_t index);

/* Elements first … first + n - 1 of a stream as uniform float32 in [low, high):
 * (word >> 8) · 2^-24 · (high − low) + low, each operation rounded to float32, in that order: the
 * same bits in every language. (Where low is far from 0, the last rounding can give `high` itself.)
 */
void rng_fill_uniform(float *values, size_t n, uint64_t seed, uint32_t stream, uint64_t first,
                      float low, float high);

/* A permutation of 0 … n-1 by Fisher–Yates: for i from n-1 down to 1, element i changes places with
 * element rng_word(seed, stream, i) % (i + 1). */
void rng_permutation(uint32_t *order, size_t n, uint64_t seed, uint32_t stream);

#endif
