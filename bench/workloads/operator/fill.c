#include "workloads/operator/fill.h"

#include "base/bfloat16.h"
#include "base/half.h"
#include "base/memory.h"
#include "base/rng.h"
#include "workloads/operator/normal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* `to`: the array's start. */
static void store(void *to, size_t first, const double *values, size_t n, element_t element) {
    void *at = (char *)to + first * element_bytes(element);
    for (size_t i = 0; i < n; i++) {
        const double value = values[i];
        switch (element) {
        case ELEMENT_F32:
            ((float *)at)[i] = (float)value;
            break;
        case ELEMENT_F16:
            ((uint16_t *)at)[i] = half_from_float((float)value);
            break;
        case ELEMENT_BF16:
            ((uint16_t *)at)[i] = bfloat16_from_float((float)value);
            break;
        case ELEMENT_F64:
            ((double *)at)[i] = value;
            break;
        case ELEMENT_I32:
            ((int32_t *)at)[i] = (int32_t)bounded(value, INT32_MIN, INT32_MAX);
            break;
        case ELEMENT_I64: /* up to the largest double below 2^63 */
            ((int64_t *)at)[i] = (int64_t)bounded(value, -0x1p63, 0x1p63 - 1024);
            break;
        case ELEMENT_U8:
            ((uint8_t *)at)[i] = (uint8_t)bounded(value, 0, UINT8_MAX);
            break;
        default:
            ((bool *)at)[i] = value != 0;
        }
    }
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
    for (size_t i = 0; i < n; i++) {
        if (fill->kind == FILL_UNIFORM)
            values[i] = uniform[i];
        else if (fill->kind == FILL_NORMAL)
            values[i] = low + high * normal_of_word(words[i]);
        else if (fill->kind == FILL_INTEGERS)
            values[i] = low + (double)(words[i] * (uint64_t)(high - low) >> 32);
        else
            values[i] = low;
    }
}

/* ---- permutations ---------------------------------------------------------------------------- */

/* Elements in the order of their words; equal words in the order of their numbers. */
enum { BUCKETS = 256 };

static int by_key(const void *a, const void *b) {
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Put each element's key, word · 2^32 + number, into the bucket of the word's upper bits; `ends` has the buckets'
 * starts, and then their ends. Without `keys`, only count the elements in `ends`. */
static void distribute(uint64_t *keys, size_t ends[BUCKETS], size_t n, rng_position_t from) {
    uint32_t words[CHUNK];
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t count = chunk_of(first, n);
        from.first = first;
        rng_words(words, count, from);
        for (size_t i = 0; i < count; i++) {
            const size_t place = ends[words[i] >> 24]++;
            if (keys != NULL)
                keys[place] = (uint64_t)words[i] << 32 | (first + i);
        }
    }
}

static void fill_permutation(void *values, size_t n, element_t element, rng_position_t from) {
    uint64_t *keys = mem_alloc(n * sizeof *keys);
    size_t counts[BUCKETS] = {0}, ends[BUCKETS] = {0};
    distribute(NULL, counts, n, from);
    for (size_t b = 1; b < BUCKETS; b++)
        ends[b] = ends[b - 1] + counts[b - 1];
    distribute(keys, ends, n, from);
#pragma omp parallel for schedule(dynamic) if (n > MIN_PARALLEL)
    for (size_t b = 0; b < BUCKETS; b++) {
        double numbers[CHUNK];
        const size_t start = ends[b] - counts[b];
        qsort(keys + start, counts[b], sizeof *keys, by_key);
        for (size_t first = start; first < ends[b]; first += CHUNK) {
            const size_t count = chunk_of(first, ends[b]);
            for (size_t i = 0; i < count; i++)
                numbers[i] = (uint32_t)keys[first + i];
            store(values, first, numbers, count, element);
        }
    }
    free(keys);
}

void fill_array(void *values, size_t n, element_t element, const fill_t *fill, uint64_t seed,
                uint32_t input) {
    const rng_position_t start = {.seed = seed, .stream = OPERATOR_STREAM + input};
    if (fill->kind == FILL_PERMUTATION) {
        fill_permutation(values, n, element, start);
        return;
    }
#pragma omp parallel for schedule(static) if (n > MIN_PARALLEL)
    for (size_t first = 0; first < n; first += CHUNK) {
        double numbers[CHUNK];
        const size_t count = chunk_of(first, n);
        const rng_position_t from = {start.seed, start.stream, first};
        draw(numbers, count, fill, from);
        store(values, first, numbers, count, element);
    }
}

/* ---- refills --------------------------------------------------------------------------------- */

static bool is_symmetric(element_t element, const fill_t *fill) {
    return element_is_float(element) && ((fill->kind == FILL_UNIFORM && fill->low == -fill->high) ||
                                         (fill->kind == FILL_NORMAL && fill->low == 0));
}

static void flip(void *values, size_t n, element_t element, const signs_t *flips) {
    if (element == ELEMENT_F64)
        signs_flip_doubles(values, n, flips);
    else if (element == ELEMENT_F32)
        signs_flip_floats(values, n, flips);
    else
        signs_flip_halves(values, n, flips);
}

static size_t offset(uint64_t seed, size_t n) {
    return seed == 0 ? 0 : rng_word(seed, STREAM_OFFSETS, 0) % n;
}

/* Byte `by` becomes the first. The shorter part waits elsewhere. */
static void rotate(char *bytes, size_t n, size_t by) {
    const size_t rest = n - by;
    char *moved = mem_alloc(by < rest ? by : rest);
    if (by < rest) {
        memcpy(moved, bytes, by);
        memmove(bytes, bytes + by, rest);
        memcpy(bytes + rest, moved, by);
    } else {
        memcpy(moved, bytes + by, rest);
        memmove(bytes + rest, bytes, by);
        memcpy(bytes, moved, rest);
    }
    free(moved);
}

void fill_refill(void *values, size_t n, element_t element, const fill_t *fill, uint64_t from,
                 uint64_t to) {
    if (n == 0 || from == to || fill->kind == FILL_CONSTANT)
        return;
    if (is_symmetric(element, fill)) {
        signs_t flips;
        signs_between(from, to, &flips);
        flip(values, n, element, &flips);
        return;
    }
    const size_t by = (n - offset(from, n) + offset(to, n)) % n;
    if (by > 0)
        rotate(values, n * element_bytes(element), by * element_bytes(element));
}
