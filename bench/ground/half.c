#include "ground/half.h"

#include <math.h>
#include <string.h>

enum {
    MANTISSA_BITS = 10,
    FLOAT_MANTISSA_BITS = 23,
    DROPPED = FLOAT_MANTISSA_BITS - MANTISSA_BITS
};

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

uint16_t half_from_float(float value) {
    uint32_t bits = bits_of(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u)
        return sign | 0x7E00u; /* NaN */
    if (magnitude >= bits_of(65520.0f))
        return sign | 0x7C00u; /* rounds to beyond 65504: infinity */
    if (magnitude < bits_of(6.103515625e-05f)) {
        /* Subnormal: a multiple of 2^-24. Rounding to nearest even is lrintf's usual mode. */
        return sign | (uint16_t)lrintf(fabsf(value) * 16777216.0f);
    }
    /* Rebias the exponent from 127 to 15, add half of what is dropped, ties to even; a carry moves
     * into the exponent, as it should. */
    uint32_t half = magnitude - ((uint32_t)(127 - 15) << FLOAT_MANTISSA_BITS);
    half += (1u << (DROPPED - 1)) - 1 + (half >> DROPPED & 1);
    return sign | (uint16_t)(half >> DROPPED);
}

float half_to_float(uint16_t half) {
    float sign = half & 0x8000u ? -1.0f : 1.0f;
    int exponent = half >> MANTISSA_BITS & 0x1F;
    int mantissa = half & 0x3FF;
    if (exponent == 0x1F)
        return mantissa != 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexpf((float)mantissa, -24);
    return sign * ldexpf((float)(mantissa | 0x400), exponent - 25);
}

void half_round(float *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        values[i] = half_to_float(half_from_float(values[i]));
}
