#include "stats/moderation.h"

#include <math.h>

/* ψ and ψ' for x > 0: recurrence to where their asymptotic series converge fast (DLMF 5.5.2, 5.11.2,
 * 5.15.8). */
enum { SERIES_FROM = 8 };

static double digamma(double x) {
    double sum = 0;
    for (; x < SERIES_FROM; x++)
        sum -= 1 / x;
    const double y = 1 / (x * x);
    return sum + log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y / 240)));
}

static double trigamma(double x) {
    double sum = 0;
    for (; x < SERIES_FROM; x++)
        sum += 1 / (x * x);
    const double y = 1 / (x * x);
    return sum + 1 / x + y / 2 + y / x * (1.0 / 6 - y * (1.0 / 30 - y * (1.0 / 42 - y / 30)));
}

/* By bisection of the logarithm: ψ' falls from infinity to 0. */
static double trigamma_inverse(double y) {
    enum { STEPS = 60 };
    double low = log(1e-4), high = log(1e8);
    for (int i = 0; i < STEPS; i++) {
        const double middle = (low + high) / 2;
        *(trigamma(exp(middle)) > y ? &low : &high) = middle;
    }
    return exp((low + high) / 2);
}

/* ln s² less its expectation if the variance is 1; NaN: has no part. */
static double centred_log(double variance, double df) {
    return variance > 0 && df > 0 ? log(variance) - digamma(df / 2) + log(df / 2) : (double)NAN;
}

stats_prior_t stats_prior_of(const double *variances, const double *dfs, size_t n) {
    enum { FEWEST = 3 };
    double mean = 0, spread = 0, expected = 0;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const double e = centred_log(variances[i], dfs[i]);
        if (isfinite(e)) {
            mean += e;
            expected += trigamma(dfs[i] / 2);
            kept++;
        }
    }
    if (kept < FEWEST)
        return (stats_prior_t){0, 0};
    mean /= (double)kept;
    expected /= (double)kept;
    for (size_t i = 0; i < n; i++) {
        const double e = centred_log(variances[i], dfs[i]);
        spread += isfinite(e) ? (e - mean) * (e - mean) / (double)(kept - 1) : 0;
    }
    /* Variances that differ by no more than chance have a prior of any df. */
    const double more = spread - expected;
    const double half =
        more > 0 ? fmin(trigamma_inverse(more), STATS_PRIOR_MOST_DF / 2) : STATS_PRIOR_MOST_DF / 2;
    return (stats_prior_t){exp(mean + digamma(half) - log(half)), 2 * half};
}

double stats_moderated(const stats_prior_t *prior, double variance, double df) {
    return prior->df > 0 ? (prior->df * prior->variance + df * variance) / (prior->df + df)
                         : variance;
}
