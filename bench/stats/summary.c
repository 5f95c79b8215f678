#include "stats/summary.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* NaN sorts last and leaves the others in order. */
static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    if (isnan(x) || isnan(y))
        return (isnan(x) ? 1 : 0) - (isnan(y) ? 1 : 0);
    return (x > y) - (x < y);
}

void stats_sort(double *values, size_t n) {
    if (n > 1)
        qsort(values, n, sizeof *values, compare_doubles);
}

double stats_quantile(const double *sorted, size_t n, double q) {
    if (n == 0)
        return NAN;
    double position = fmin(fmax(q, 0), 1) * (double)(n - 1);
    size_t below = (size_t)position;
    double share = position - (double)below;
    /* Without this test an infinity above would turn an exact hit into NaN. */
    if (share == 0)
        return sorted[below];
    return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

bool stats_median_ci95(const double *sorted, size_t n, double *low, double *high) {
    if (n < 6) { /* min … max misses the median with probability 2 · 2^-n > 5 % */
        *low = n == 0 ? NAN : sorted[0];
        *high = n == 0 ? NAN : sorted[n - 1];
        return false;
    }
    /* Of n samples, B ~ Binomial(n, 1/2) lie below the median; the 0-based ranks j and n-1-j
     * enclose it unless B <= j or B >= n - j. Find the largest j with P(B <= j) <= 2.5 %, walking
     * down from the centre, where nothing underflows: about sqrt(n) steps. */
    size_t j = (n - 1) / 2;
    int sign;
    double log_choose = lgamma_r((double)n + 1, &sign) - lgamma_r((double)j + 1, &sign) -
                        lgamma_r((double)(n - j) + 1, &sign);
    double probability = exp(log_choose - (double)n * log(2)); /* P(B = j) */
    /* By symmetry: for odd n half of all outcomes are at j or below; for even n the two sides share
     * what the central outcome j + 1 leaves. */
    double central = probability * (double)(n - j) / (double)(j + 1);
    double tail = n % 2 == 1 ? 0.5 : (1 - central) / 2; /* P(B <= j) */
    while (tail > 0.025 && j > 0) {
        tail -= probability;
        probability *= (double)j / (double)(n - j + 1);
        j--;
    }
    *low = sorted[j];
    *high = sorted[n - 1 - j];
    return true;
}

double stats_mad(const double *sorted, size_t n) {
    if (n == 0)
        return NAN;
    double median = stats_quantile(sorted, n, 0.5);
    double *deviations = mem_alloc(n * sizeof *deviations);
    for (size_t i = 0; i < n; i++)
        deviations[i] = fabs(sorted[i] - median);
    stats_sort(deviations, n);
    double mad = stats_quantile(deviations, n, 0.5);
    free(deviations);
    return mad;
}
