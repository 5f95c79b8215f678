#include "base/half.h"

#include <math.h>

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
        return sign | 0x7C00u; /* rounds beyond 65504: infinity */
    if (magnitude < bits_of(6.103515625e-05f)) {
        /* Subnormal: a multiple of 2^-24. lrintf rounds to nearest even by default. */
        return sign | (uint16_t)lrintf(fabsf(value) * 16777216.0f);
    }
    /* Rebias the exponent from 127 to 15 and round, ties to even; a carry correctly increments the
     * exponent. */
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

float bfloat16_to_float(uint16_t bfloat) {
    const uint32_t bits = (uint32_t)bfloat << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- FP8 --------------------------------------------------------------------------------------- */

typedef struct fp8 {
    unsigned mantissa_bits, bias;
    uint8_t largest, nan;
} fp8_t;

static const fp8_t E4M3 = {3, 7, 0x7E, 0x7F}, E5M2 = {2, 15, 0x7B, 0x7F};

static uint8_t fp8_from_float(const fp8_t *format, float value) {
    const unsigned dropped = FLOAT_MANTISSA_BITS - format->mantissa_bits;
    const uint32_t bits = bits_of(value), magnitude = bits & 0x7FFFFFFFu;
    const uint8_t sign = (uint8_t)(bits >> 24 & 0x80u);
    const uint32_t rebias = (uint32_t)(127 - format->bias) << FLOAT_MANTISSA_BITS;
    uint32_t rounded;
    if (magnitude > 0x7F800000u)
        return sign | format->nan;
    if (magnitude < rebias + (1u << FLOAT_MANTISSA_BITS)) /* subnormal: a multiple of the least */
        rounded =
            (uint32_t)lrintf(ldexpf(fabsf(value), (int)(format->bias - 1 + format->mantissa_bits)));
    else
        rounded = (magnitude - rebias + (1u << (dropped - 1)) - 1 + (magnitude >> dropped & 1)) >>
                  dropped;
    return sign | (uint8_t)(rounded < format->largest ? rounded : format->largest);
}

static float fp8_to_float(const fp8_t *format, uint8_t bits) {
    const int exponent = (bits & 0x7F) >> format->mantissa_bits;
    const int mantissa = bits & ((1 << format->mantissa_bits) - 1);
    const int whole = exponent > 0 ? mantissa | 1 << format->mantissa_bits : mantissa;
    const int unit = (exponent > 0 ? exponent : 1) - (int)(format->bias + format->mantissa_bits);
    const float magnitude = ldexpf((float)whole, unit);
    if ((bits & 0x7F) <= format->largest)
        return bits & 0x80 ? -magnitude : magnitude;
    return format == &E5M2 && mantissa == 0 ? copysignf(INFINITY, bits & 0x80 ? -1 : 1) : NAN;
}

uint8_t e4m3_from_float(float value) {
    return fp8_from_float(&E4M3, value);
}

uint8_t e5m2_from_float(float value) {
    return fp8_from_float(&E5M2, value);
}

float e4m3_to_float(uint8_t bits) {
    return fp8_to_float(&E4M3, bits);
}

float e5m2_to_float(uint8_t bits) {
    return fp8_to_float(&E5M2, bits);
}
