#include "base/bfloat16.h"

#include <string.h>

uint16_t bfloat16_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return (uint16_t)(bits >> 16 | 0x40u); /* a NaN stays one without its lower bits */
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

float bfloat16_to_float(uint16_t bfloat) {
    const uint32_t bits = (uint32_t)bfloat << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
