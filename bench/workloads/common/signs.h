/* Refilled inputs: a seed sets the signs of a case's inputs, the same in every engine. Element i of
 * each input array has the opposite sign if bit i mod 65536 of the seed's mask is set; word k of the
 * mask is word k of STREAM_SIGNS with the seed as its key (docs/worker-protocol.md). Seed 0: the
 * inputs as opened. */
#ifndef BENCH_WORKLOADS_COMMON_SIGNS_H
#define BENCH_WORKLOADS_COMMON_SIGNS_H

#include <stddef.h>
#include <stdint.h>

enum { STREAM_SIGNS = 203, SIGNS_WORDS = 2048, SIGNS_PERIOD = 32 * SIGNS_WORDS };

typedef struct signs {
    uint32_t words[SIGNS_WORDS];
} signs_t;

/* The mask that turns inputs of seed `from` into those of seed `to`. */
void signs_between(uint64_t from, uint64_t to, signs_t *flips);

/* `n` elements from element 0, or a multiple of SIGNS_PERIOD, of an array. */
void signs_flip_floats(float *values, size_t n, const signs_t *flips);
void signs_flip_halves(uint16_t *values, size_t n, const signs_t *flips); /* bf16 too */
void signs_flip_doubles(double *values, size_t n, const signs_t *flips);

#endif
