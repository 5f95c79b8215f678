/* IEEE 754 binary16 ("half", f16) as bits in a uint16_t, for inputs and outputs of f16 kernels. */
#ifndef BENCH_BASE_HALF_H
#define BENCH_BASE_HALF_H

#include <stdint.h>
#include <string.h>

uint16_t half_from_float(float value); /* nearest, ties to even; overflow gives infinity */
float half_to_float(uint16_t half);    /* exact */

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

/* FP8 as in "FP8 Formats for Deep Learning" (Micikevicius et al., 2022): e4m3 without infinities, up to 448; e5m2 up to 57344.
 * Nearest, ties to even; overflow gives the largest value, as __nv_fp8_e4m3 and __nv_fp8_e5m2 round. */
uint8_t e4m3_from_float(float value);
uint8_t e5m2_from_float(float value);
float e4m3_to_float(uint8_t bits); /* exact */
float e5m2_to_float(uint8_t bits);

#endif
