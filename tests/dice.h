/* Random choices for tests, the same in every run; a failure names the seed. */
#ifndef TESTS_DICE_H
#define TESTS_DICE_H

#include "base/rng.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>

typedef struct dice {
    uint64_t seed, thrown;
} dice_t;

static inline uint32_t throw_below(dice_t *dice, uint32_t sides) {
    return rng_word(dice->seed, 0, dice->thrown++) % sides;
}

/* All orders of magnitude alike; most blocks small, as operators' outputs are. */
static inline size_t throw_bytes(dice_t *dice, unsigned max_log2) {
    unsigned log2 = throw_below(dice, max_log2 + 1);
    return ((size_t)1 << log2) + throw_below(dice, (uint32_t)1 << log2);
}

#endif
