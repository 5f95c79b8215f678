#include "workloads/operator/normal.h"

#include "base/target_clones.h"

#include <math.h>

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

static double polynomial(const double *coefficients, size_t n, double x) {
    double sum = coefficients[n - 1];
    for (size_t i = n - 1; i-- > 0;)
        sum = sum * x + coefficients[i];
    return sum;
}

/* The libraries' logarithms differ in the last bit. */
static double natural_log(double x) {
    static const double LOG_2 = 0.693147180559945309417, ROOT_HALF = 0.707106781186547524401;
    int exponent;
    double mantissa = frexp(x, &exponent);
    if (mantissa < ROOT_HALF) {
        mantissa = mantissa * 2;
        exponent = exponent - 1;
    }
    const double s = (mantissa - 1) / (mantissa + 1);
    const double series = polynomial(LOG_SERIES, sizeof LOG_SERIES / sizeof *LOG_SERIES, s * s);
    return exponent * LOG_2 + 2 * s * series;
}

static const double CENTRE = 0.425; /* half the width of what the first approximation is for */

static inline double quantile_at(uint32_t word) {
    return (word + 0.5) * 0x1p-32;
}

static double tail(double p) {
    const double q = p - 0.5, r = sqrt(-natural_log(q < 0 ? p : 1 - p)) - 1.6;
    const double size =
        polynomial(TAIL_ABOVE, COEFFICIENTS, r) / polynomial(TAIL_BELOW, COEFFICIENTS, r);
    return q < 0 ? -size : size;
}

/* Of words in the tails: anything. */
WIDEST_VECTORS static void centres(double *values, const uint32_t *words, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const double q = quantile_at(words[i]) - 0.5, r = 0.180625 - q * q;
        double above = CENTRE_ABOVE[COEFFICIENTS - 1], below = CENTRE_BELOW[COEFFICIENTS - 1];
#pragma GCC unroll 8
        for (int k = COEFFICIENTS - 2; k >= 0; k--) {
            above = above * r + CENTRE_ABOVE[k];
            below = below * r + CENTRE_BELOW[k];
        }
        values[i] = above * q / below;
    }
}

void normal_of_words(double *values, const uint32_t *words, size_t n) {
    centres(values, words, n);
    for (size_t i = 0; i < n; i++) {
        const double p = quantile_at(words[i]);
        if (fabs(p - 0.5) > CENTRE)
            values[i] = tail(p);
    }
}

double normal_of_word(uint32_t word) {
    double value;
    normal_of_words(&value, &word, 1);
    return value;
}
