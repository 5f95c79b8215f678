/* IEEE 754 binary16 ("half", f16) as bits in a uint16_t, for inputs and outputs of f16 kernels. */
#ifndef BENCH_BASE_HALF_H
#define BENCH_BASE_HALF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

uint16_t half_from_float(float value); /* nearest, ties to even; overflow gives infinity */
float half_to_float(uint16_t half);    /* exact */

/* Round each value to the nearest f16, ties to even; the type stays. */
void half_round(float *values, size_t n);
void half_round_doubles(double *values, size_t n);

/* bfloat16 (bf16): the upper half of a float32, as bits in a uint16_t. */

/* Nearest, ties to even; overflow gives infinity. Here, for loops of vectors. */
static inline uint16_t bfloat16_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
    const uint32_t nan = bits >> 16 | 0x40u; /* stays one without its lower bits */
    return (uint16_t)((bits & 0x7FFFFFFFu) > 0x7F800000u ? nan : rounded);
}

float bfloat16_to_float(uint16_t bfloat); /* exact */

#endif
