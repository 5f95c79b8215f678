#include "workloads/mnist_train/split_weight.h"

#include "base/half.h"

#include <string.h>

static const float DOWN = 0x1p-112f, UP = 0x1p112f;

static uint32_t scaled_bits(float weight) {
    const float scaled = weight * DOWN;
    uint32_t bits;
    memcpy(&bits, &scaled, sizeof bits);
    return bits;
}

uint16_t split_low_half(float weight) {
    return (uint16_t)scaled_bits(weight);
}

float split_joined(uint16_t half, uint16_t low) {
    /* The nearest bits with this lower half: float16 rounds off 13. */
    const uint32_t upper = scaled_bits(half_to_float(half)) + 0x8000 - low;
    const uint32_t bits = (upper & 0xffff0000) | low;
    float scaled;
    memcpy(&scaled, &bits, sizeof scaled);
    return scaled * UP;
}
