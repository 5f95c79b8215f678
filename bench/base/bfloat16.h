/* bfloat16 (bf16): the upper half of a float32, as bits in a uint16_t. */
#ifndef BENCH_BASE_BFLOAT16_H
#define BENCH_BASE_BFLOAT16_H

#include <stdint.h>
#include <string.h>

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
