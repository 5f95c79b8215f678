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

double stats_median(const double *values, size_t n) {
    double *sorted = mem_alloc((n + 1) * sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = values[i];
    stats_sort(sorted, n);
    const double median = stats_quantile(sorted, n, 0.5);
    free(sorted);
    return median;
}

double stats_tick(const double *sorted, size_t n) {
    const size_t often = n / 10 > 2 ? n / 10 : 2;
    size_t n_ticks = 0, first = 0;
    double step = INFINITY;
    for (size_t i = 1; i <= n; i++) {
        const double gap = i < n ? sorted[i] - sorted[first] : INFINITY;
        if (!(gap > 0))
            continue;
        n_ticks += i - first >= often;
        first = i;
        step = fmin(step, gap);
    }
    return n_ticks >= 2 ? step : 0;
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
