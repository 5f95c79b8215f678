#include "workloads/described/fill.h"

#include "base/half.h"
#include "base/memory.h"
#include "base/parallel.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ==== normal numbers ========================================================================== */

/* A fused x * y + z has other bits; see base/rng.c. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* Algorithm AS 241 (PPND16), M. J. Wichura, Applied Statistics 37(3), 1988: numerators and denominators of the quantile's
 * rational approximations, constants first. Its third, beyond 5 = sqrt(-log(1.4e-11)), is not needed: a word's
 * probability is at least 2^-33. */
enum { COEFFICIENTS = 8 };

static const double CENTRE_ABOVE[COEFFICIENTS] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                                                  1.9715909503065514427e3, 1.3731693765509461125e4,
                                                  4.5921953931549871457e4, 6.7265770927008700853e4,
                                                  3.3430575583588128105e4, 2.5090809287301226727e3};
static const double CENTRE_BELOW[COEFFICIENTS] = {1.0,
                                                  4.2313330701600911252e1,
                                                  6.8718700749205790830e2,
                                                  5.3941960214247511077e3,
                                                  2.1213794301586595867e4,
                                                  3.9307895800092710610e4,
                                                  2.8729085735721942674e4,
                                                  5.2264952788528545610e3};
static const double TAIL_ABOVE[COEFFICIENTS] = {
    1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
    3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
    2.27238449892691845833e-2, 7.74545014278341407640e-4};
static const double TAIL_BELOW[COEFFICIENTS] = {1.0,
                                                2.05319162663775882187e0,
                                                1.67638483018380384940e0,
                                                6.89767334985100004550e-1,
                                                1.48103976427480074590e-1,
                                                1.51986665636164571966e-2,
                                                5.47593808499534494600e-4,
                                                1.05075007164441684324e-9};

/* log(m) = 2 s (1 + s²/3 + s⁴/5 + …) with s = (m - 1) / (m + 1). Between sqrt(1/2) and sqrt(2), the first term left
 * out is less than 2^-55. */
static const double LOG_SERIES[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,
                                    1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19};

static const double CENTRE = 0.425; /* half the width of what the first approximation is for */

enum { PART = 256 }; /* words at a time, whose tails are gathered */

static inline double quantile_at(uint32_t word) {
    return (word + 0.5) * 0x1p-32;
}

static inline double polynomial(const double coefficients[COEFFICIENTS], double x) {
    double sum = coefficients[COEFFICIENTS - 1];
#pragma GCC unroll 8
    for (int i = COEFFICIENTS - 2; i >= 0; i--)
        sum = sum * x + coefficients[i];
    return sum;
}

static inline double with_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The libraries' logarithms differ in the last bit. Of a normal number from 2^-33 to 1/2: its exponent and its mantissa, from
 * 1/2 to 1, are those of frexp(). The exponent becomes a double as the last bits of 2^52 and more: vectors of 64-bit integers
 * have no conversion. */
static inline double natural_log(double x) {
    static const double LOG_2 = 0.693147180559945309417, ROOT_HALF = 0.707106781186547524401;
    enum { TERMS = sizeof LOG_SERIES / sizeof *LOG_SERIES, BIAS = 1022 };
    static const uint64_t FRACTION = (UINT64_C(1) << 52) - 1;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    double exponent = with_bits(bits >> 52 | UINT64_C(0x4330000000000000)) - (0x1p52 + BIAS);
    double mantissa = with_bits((bits & FRACTION) | (uint64_t)BIAS << 52);
    const bool small = mantissa < ROOT_HALF;
    const double twice = mantissa * 2, before = exponent - 1;
    mantissa = small ? twice : mantissa;
    exponent = small ? before : exponent;
    const double s = (mantissa - 1) / (mantissa + 1), s2 = s * s;
    double series = LOG_SERIES[TERMS - 1];
#pragma GCC unroll 16
    for (int i = TERMS - 2; i >= 0; i--)
        series = series * s2 + LOG_SERIES[i];
    return exponent * LOG_2 + 2 * s * series;
}

/* Of words in the tails: anything. */
WIDEST_VECTORS static void centres(double *values, const uint32_t *words, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const double q = quantile_at(words[i]) - 0.5, r = 0.180625 - q * q;
        const double above = polynomial(CENTRE_ABOVE, r), below = polynomial(CENTRE_BELOW, r);
        values[i] = above * q / below;
    }
}

/* Of a few words in the tails, in three steps: a root alone is a loop of vectors. */
WIDEST_VECTORS static void tails(double *values, const uint32_t *words, size_t n) {
    double roots[PART];
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const double p = quantile_at(words[i]), from_above = 1 - p;
        roots[i] = -natural_log(p < 0.5 ? p : from_above);
    }
    for (size_t i = 0; i < n; i++)
        roots[i] = sqrt(roots[i]);
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const double r = roots[i] - 1.6;
        const double size = polynomial(TAIL_ABOVE, r) / polynomial(TAIL_BELOW, r);
        values[i] = quantile_at(words[i]) < 0.5 ? -size : size;
    }
}

static void part_of_words(double *values, const uint32_t *words, size_t n) {
    uint32_t outer[PART], at[PART];
    double of_outer[PART];
    size_t n_outer = 0;
    centres(values, words, n);
    for (size_t i = 0; i < n; i++) { /* without a branch, which nobody could predict */
        outer[n_outer] = words[i];
        at[n_outer] = (uint32_t)i;
        n_outer += fabs(quantile_at(words[i]) - 0.5) > CENTRE;
    }
    tails(of_outer, outer, n_outer);
    for (size_t i = 0; i < n_outer; i++)
        values[at[i]] = of_outer[i];
}

static void normal_of_words(double *values, const uint32_t *words, size_t n) {
    for (size_t at = 0, part; at < n; at += part) {
        part = n - at < PART ? n - at : PART;
        part_of_words(values + at, words + at, part);
    }
}

double normal_of_word(uint32_t word) {
    double value;
    normal_of_words(&value, &word, 1);
    return value;
}

/* ==== fills =================================================================================== */

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
    case ELEMENT_I8:
        STORE(int8_t, bounded(values[i], INT8_MIN, INT8_MAX));
    case ELEMENT_E4M3:
        STORE(uint8_t, e4m3_from_float((float)values[i]));
    case ELEMENT_E5M2:
        STORE(uint8_t, e5m2_from_float((float)values[i]));
    default:
        STORE(bool, values[i] != 0);
    }
#undef STORE
}

static void draw_alone(double *values, size_t n, const fill_t *fill, rng_position_t from) {
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

/* Not of a permutation. */
static void draw(double *values, size_t n, element_t element, const fill_t *fill,
                 rng_position_t from) {
    const fill_t of = {.kind = fill->of_kind, .low = fill->of_low, .high = fill->of_high};
    double others[CHUNK];
    draw_alone(values, n, fill, from);
    if (fill->times == 0)
        return;
    from.stream = DESCRIBED_STREAM + fill->of;
    draw_alone(others, n, &of, from);
    for (size_t i = 0; i < n; i++)
        values[i] += fill->times * (element == ELEMENT_F32 ? (float)others[i] : others[i]);
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

/* Elements that are those of a stream from a place on, on this thread; not of a permutation. */
static void fill_part(void *values, size_t n, element_t element, const fill_t *fill,
                      rng_position_t from) {
    double numbers[CHUNK];
    for (size_t first = 0, count; first < n; first += count, from.first += count) {
        count = chunk_of(first, n);
        draw(numbers, count, element, fill, from);
        store((char *)values + first * element_bytes(element), numbers, count, element);
    }
}

void fill_array(void *values, size_t n, element_t element, const fill_t *fill, uint64_t seed,
                uint32_t input) {
    const uint32_t stream = DESCRIBED_STREAM + input;
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
    const rng_position_t start = {.seed = key, .stream = DESCRIBED_STREAM + input};
    if (fill->kind == FILL_PERMUTATION)
        fill_permutation(values, n, element, start);
    else
        fill_part(values, n, element, fill, start);
}
