#include "workloads/common/signs.h"

#include "base/rng.h"
#include "base/target_clones.h"

#include <string.h>

enum { BITS = 32 };

static const uint32_t SIGN = 0x80000000;

static void flip_by_mask(signs_t *flips, uint64_t seed) {
    if (seed == 0)
        return;
    for (size_t k = 0; k < SIGNS_WORDS; k++)
        flips->words[k] ^= rng_word(seed, STREAM_SIGNS, k);
}

void signs_between(uint64_t from, uint64_t to, signs_t *flips) {
    memset(flips, 0, sizeof *flips);
    flip_by_mask(flips, from);
    flip_by_mask(flips, to);
}

/* At most one period. Through copies, because a float is no uint32_t to the compiler. */
WIDEST_VECTORS static void flip_floats(float *values, size_t n, const signs_t *flips) {
    for (size_t first = 0; first < n; first += BITS) {
        const size_t count = n - first < BITS ? n - first : BITS;
        const uint32_t word = flips->words[first / BITS];
        uint32_t bits[BITS] = {0};
        memcpy(bits, values + first, count * sizeof *bits);
#pragma omp simd
        for (unsigned i = 0; i < BITS; i++)
            bits[i] ^= word << (BITS - 1 - i) & SIGN;
        memcpy(values + first, bits, count * sizeof *bits);
    }
}

WIDEST_VECTORS static void flip_halves(uint16_t *values, size_t n, const signs_t *flips) {
    for (size_t i = 0; i < n; i++)
        values[i] ^= (uint16_t)((flips->words[i / BITS] << (BITS - 1 - i % BITS) & SIGN) >> 16);
}

WIDEST_VECTORS static void flip_doubles(double *values, size_t n, const signs_t *flips) {
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        bits ^= (uint64_t)(flips->words[i / BITS] >> i % BITS & 1) << 63;
        memcpy(&values[i], &bits, sizeof bits);
    }
}

/* By one thread: several leave the values in as many caches and go on spinning, and a copy to the
 * device that follows takes up to 1.7 times as long (docs/cheating.md). */
void signs_flip_floats(float *values, size_t n, const signs_t *flips) {
    for (size_t first = 0; first < n; first += SIGNS_PERIOD)
        flip_floats(values + first, n - first < SIGNS_PERIOD ? n - first : SIGNS_PERIOD, flips);
}

void signs_flip_halves(uint16_t *values, size_t n, const signs_t *flips) {
    for (size_t first = 0; first < n; first += SIGNS_PERIOD)
        flip_halves(values + first, n - first < SIGNS_PERIOD ? n - first : SIGNS_PERIOD, flips);
}

void signs_flip_doubles(double *values, size_t n, const signs_t *flips) {
    for (size_t first = 0; first < n; first += SIGNS_PERIOD)
        flip_doubles(values + first, n - first < SIGNS_PERIOD ? n - first : SIGNS_PERIOD, flips);
}
