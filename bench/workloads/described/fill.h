/* How a workload's inputs are made and refilled, from the run's generator (base/rng.h): here, and on the device the same bits
 * by kernels/common/refill.cu. Python reads them from files (measure/made_inputs.h). */
#ifndef BENCH_WORKLOADS_DESCRIBED_FILL_H
#define BENCH_WORKLOADS_DESCRIBED_FILL_H

#include "base/rng.h"
#include "expression/element.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Normal numbers from random words. */

/* The standard normal distribution's quantile at (word + 0.5) · 2^-32, right to about 1e-15. It takes only
 * + - * / and sqrt, whose results IEEE 754 defines to the last bit: the same number in every language. */
double normal_of_word(uint32_t word);

/* Element i comes from word i of the input's stream; whole numbers up to 2^53 are exact. */
typedef enum fill_kind {
    FILL_UNIFORM,  /* [low, high), as rng_fill_uniform(), then rounded to the element type */
    FILL_NORMAL,   /* low + high · normal_of_word(): mean `low`, standard deviation `high` */
    FILL_INTEGERS, /* low … high - 1, at most 2^32 of them: low + (word · (high - low) >> 32) */
    FILL_PERMUTATION, /* 0 … n - 1 in the order of their words, n at most 2^32 */
    FILL_CONSTANT,    /* low */
    FILL_FUNCTION, /* what the reference's function `inputs` returns: files (measure/made_inputs.h) */
    FILL_DATA /* what its function `data` returns: also files, but a refill leaves it as it is */
} fill_kind_t;

/* Does a function of the reference make it? */
static inline bool fill_is_made(fill_kind_t kind) {
    return kind == FILL_FUNCTION || kind == FILL_DATA;
}

/* As in kernels/common/refill.cu. */
typedef struct fill {
    fill_kind_t kind;
    double low, high;
    double times; /* so many times input number `of` is added, which is filled so: */
    double of_low, of_high;
    fill_kind_t of_kind;
    uint32_t of;
} fill_t;

/* Streams of inputs 0, 1, … */
enum { DESCRIBED_STREAM = 64 };

/* Fill input number `input`, `n` elements, on all cores. f16 and bf16 are rounded from float32, f64 is not rounded, integers
 * go to the nearest in their range; bool: true for what is not 0. */
void fill_array(void *values, size_t n, element_t element, const fill_t *fill, uint64_t seed,
                uint32_t input);

/* The generator's key for inputs of refill seed `refill` of a case with this seed: rng_mix(seed XOR refill), or for 0, the
 * inputs as opened, the seed itself. */
uint64_t fill_key(uint64_t seed, uint64_t refill);
/* As fill_array() with a key in the place of the seed, but on one thread: others would go on spinning for a while, beside
 * what is timed next (docs/cheating.md). */
void fill_again(void *values, size_t n, element_t element, const fill_t *fill, uint64_t key,
                uint32_t input);

#endif
