#include "workloads/operator/normal.h"

#include "base/target_clones.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

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

void normal_of_words(double *values, const uint32_t *words, size_t n) {
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
