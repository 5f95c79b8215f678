#include "workloads/operator/fill.h"

#include "base/half.h"
#include "base/memory.h"
#include "base/target_clones.h"
#include "workloads/operator/normal.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* A fused x * y + z has other bits; see base/rng.c. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* CHUNK: elements that a thread makes at once, in its cache. */
enum { CHUNK = 4096, MIN_PARALLEL = 16 * CHUNK };

static size_t chunk_of(size_t first, size_t n) {
    return n - first < CHUNK ? n - first : CHUNK;
}

static double bounded(double value, double least, double most) {
    return fmin(fmax(rint(value), least), most);
}

WIDEST_VECTORS static void store_singles(float *to, const double *values, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        to[i] = (float)values[i];
}

WIDEST_VECTORS static void store_bfloats(uint16_t *to, const double *values, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        to[i] = bfloat16_from_float((float)values[i]);
}

static void store(void *at, const double *values, size_t n, element_t element) {
#define STORE(type, value_of)                                                                      \
    for (size_t i = 0; i < n; i++)                                                                 \
        ((type *)at)[i] = (type)(value_of);                                                        \
    break
    switch (element) {
    case ELEMENT_F32:
        store_singles(at, values, n);
        break;
    case ELEMENT_F16:
        STORE(uint16_t, half_from_float((float)values[i]));
    case ELEMENT_BF16:
        store_bfloats(at, values, n);
        break;
    case ELEMENT_F64:
        STORE(double, values[i]);
    case ELEMENT_I32:
        STORE(int32_t, bounded(values[i], INT32_MIN, INT32_MAX));
    case ELEMENT_I64: /* up to the largest double below 2^63 */
        STORE(int64_t, bounded(values[i], -0x1p63, 0x1p63 - 1024));
    case ELEMENT_U8:
        STORE(uint8_t, bounded(values[i], 0, UINT8_MAX));
    default:
        STORE(bool, values[i] != 0);
    }
#undef STORE
}

/* Not of a permutation. */
static void draw(double *values, size_t n, const fill_t *fill, rng_position_t from) {
    const double low = fill->low, high = fill->high;
    uint32_t words[CHUNK];
    float uniform[CHUNK];
    if (fill->kind == FILL_UNIFORM)
        rng_fill_uniform(uniform, n, from, (float)low, (float)high);
    else if (fill->kind != FILL_CONSTANT)
        rng_words(words, n, from);
    if (fill->kind == FILL_NORMAL)
        normal_of_words(values, words, n);
    for (size_t i = 0; i < n; i++) {
        if (fill->kind == FILL_UNIFORM)
            values[i] = uniform[i];
        else if (fill->kind == FILL_NORMAL)
            values[i] = low + high * values[i];
        else if (fill->kind == FILL_INTEGERS)
            values[i] = low + (double)(words[i] * (uint64_t)(high - low) >> 32);
        else
            values[i] = low;
    }
}

/* ---- permutations ---------------------------------------------------------------------------- */

/* An element's number and its word; those of equal words stay in the order of their numbers. */
typedef struct numbered {
    uint32_t word, number;
} numbered_t;

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

static size_t digit_of(numbered_t of, unsigned shift) {
    return of.word >> shift & (DIGITS - 1);
}

/* One pass of a radix sort, from the word's lowest digit to its highest. */
static void sort_by(unsigned shift, const numbered_t *from, numbered_t *to, size_t n) {
    size_t starts[DIGITS + 1] = {0};
    for (size_t i = 0; i < n; i++)
        starts[digit_of(from[i], shift) + 1]++;
    for (size_t d = 0; d < DIGITS; d++)
        starts[d + 1] += starts[d];
    for (size_t i = 0; i < n; i++)
        to[starts[digit_of(from[i], shift)]++] = from[i];
}

static void fill_permutation(void *values, size_t n, element_t element, rng_position_t from) {
    numbered_t *order = mem_alloc(n * sizeof *order), *other = mem_alloc(n * sizeof *other);
    uint32_t words[CHUNK];
    double numbers[CHUNK];
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t count = chunk_of(first, n);
        from.first = first;
        rng_words(words, count, from);
        for (size_t i = 0; i < count; i++)
            order[first + i] = (numbered_t){words[i], (uint32_t)(first + i)};
    }
    for (unsigned shift = 0; shift < 32; shift += DIGIT_BITS) {
        sort_by(shift, order, other, n);
        numbered_t *sorted = other;
        other = order;
        order = sorted;
    }
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t count = chunk_of(first, n);
        for (size_t i = 0; i < count; i++)
            numbers[i] = order[first + i].number;
        store((char *)values + first * element_bytes(element), numbers, count, element);
    }
    free(order);
    free(other);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

void fill_part(void *values, size_t n, element_t element, const fill_t *fill, rng_position_t from) {
    double numbers[CHUNK];
    for (size_t first = 0, count; first < n; first += count, from.first += count) {
        count = chunk_of(first, n);
        draw(numbers, count, fill, from);
        store((char *)values + first * element_bytes(element), numbers, count, element);
    }
}

void fill_array(void *values, size_t n, element_t element, const fill_t *fill, uint64_t seed,
                uint32_t input) {
    const uint32_t stream = OPERATOR_STREAM + input;
    if (fill->kind == FILL_PERMUTATION) {
        fill_permutation(values, n, element, (rng_position_t){.seed = seed, .stream = stream});
        return;
    }
#pragma omp parallel for schedule(static) if (n > MIN_PARALLEL)
    for (size_t first = 0; first < n; first += CHUNK)
        fill_part((char *)values + first * element_bytes(element), chunk_of(first, n), element,
                  fill, (rng_position_t){seed, stream, first});
}

uint64_t fill_key(uint64_t seed, uint64_t refill) {
    return refill == 0 ? seed : rng_mix(seed ^ refill);
}

void fill_again(void *values, size_t n, element_t element, const fill_t *fill, uint64_t key,
                uint32_t input) {
    const rng_position_t start = {.seed = key, .stream = OPERATOR_STREAM + input};
    if (fill->kind == FILL_PERMUTATION)
        fill_permutation(values, n, element, start);
    else if (fill->kind != FILL_CONSTANT)
        fill_part(values, n, element, fill, start);
}
