#include "stats/bimodal.h"

#include "base/memory.h"
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LEAST_SHARE = 0.2, LEAST_STEP_LOG = 0.0487902 /* ln 1.05 */,
                    LEAST_STEP_MADS = 4 * 1.4826, LEAST_TICKS = 3, MOST_BETWEEN = 0.05;

/* How many of the ascending values are in the lower of two groups with the least sum of squares. */
static size_t split(const double *sorted, size_t n) {
    double total = 0, below = 0, most = -1;
    size_t best = 1;
    for (size_t i = 0; i < n; i++)
        total += sorted[i];
    for (size_t k = 1; k < n; k++) {
        below += sorted[k - 1];
        const double step = below / (double)k - (total - below) / (double)(n - k);
        const double between = step * step * (double)k * (double)(n - k); /* the rest is within */
        if (between > most) {
            most = between;
            best = k;
        }
    }
    return best;
}

static size_t count_between(const double *values, size_t n, double low, double high) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += values[i] > low && values[i] < high;
    return count;
}

static size_t passes_with_both(const double *values, const size_t *starts, size_t n_passes,
                               double border) {
    size_t count = 0;
    for (size_t p = 0; p < n_passes; p++) {
        size_t above = 0;
        for (size_t r = starts[p]; r < starts[p + 1]; r++)
            above += values[r] >= border;
        count += above > 0 && above < starts[p + 1] - starts[p];
    }
    return count;
}

bimodal_t bimodal_of(const double *medians, const size_t *starts, size_t n_passes, double tick) {
    const size_t n = n_passes > 0 ? starts[n_passes] : 0;
    bimodal_t none = {.found = false, .low = NAN, .high = NAN, .share_high = NAN};
    if (n < BIMODAL_FEWEST_ROUNDS)
        return none;
    double *logs = mem_alloc(n * sizeof *logs), *sorted = mem_alloc(n * sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        logs[i] = log(medians[i]);
    memcpy(sorted, logs, n * sizeof *sorted);
    stats_sort(sorted, n);
    const size_t k = split(sorted, n);
    const double low = stats_quantile(sorted, k, 0.5);
    const double high = stats_quantile(sorted + k, n - k, 0.5), step = high - low;
    const double spread = fmax(stats_mad(sorted, k), stats_mad(sorted + k, n - k));
    const double share = (double)(n - k) / (double)n;
    const bool found = isfinite(step) && share >= LEAST_SHARE && share <= 1 - LEAST_SHARE &&
                       step >= LEAST_STEP_LOG && exp(high) - exp(low) >= LEAST_TICKS * tick &&
                       step >= LEAST_STEP_MADS * spread &&
                       (double)count_between(logs, n, low + step / 3, high - step / 3) <=
                           MOST_BETWEEN * (double)n &&
                       passes_with_both(logs, starts, n_passes, sorted[k]) >= 2;
    free(logs);
    free(sorted);
    return found ? (bimodal_t){true, exp(low), exp(high), share} : none;
}
