/* Random numbers for made-up samples whose truth is known: xoshiro256+ (Blackman & Vigna 2021),
 * seeded by splitmix64. */
#ifndef TESTS_TOOLS_NOISE_H
#define TESTS_TOOLS_NOISE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static const double PI = 3.14159265358979323846;

typedef struct source {
    uint64_t state[4];
    double spare; /* Box-Muller makes two */
    bool has_spare;
} source_t;

static inline source_t source_of(uint64_t seed) {
    source_t source = {.has_spare = false};
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        source.state[i] = z ^ (z >> 31);
    }
    return source;
}

/* In (0, 1). */
static inline double uniform(source_t *source) {
    uint64_t *s = source->state, word = s[0] + s[3], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return ((double)(word >> 11) + 0.5) * 0x1p-53;
}

static inline double normal(source_t *source) {
    source->has_spare = !source->has_spare;
    if (!source->has_spare)
        return source->spare;
    double radius = sqrt(-2 * log(uniform(source))), angle = 2 * PI * uniform(source);
    source->spare = radius * sin(angle);
    return radius * cos(angle);
}

#endif
