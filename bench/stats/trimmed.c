#include "stats/trimmed.h"

#include <math.h>

stats_trimmed_t stats_trimmed_of(const double *sorted, size_t n) {
    static const double PART = 0.2;
    const size_t cut = (size_t)(PART * (double)n), kept = n - 2 * cut;
    stats_trimmed_t trimmed = {NAN, NAN, NAN};
    double mean = 0, winsorised = 0, sum = 0;
    if (n == 0)
        return trimmed;
    for (size_t i = 0; i < n; i++) {
        const size_t inside = i < cut ? cut : i >= n - cut ? n - cut - 1 : i;
        mean += i == inside ? sorted[i] / (double)kept : 0;
        winsorised += sorted[inside] / (double)n;
    }
    trimmed.mean = mean;
    if (kept < 2)
        return trimmed;
    for (size_t i = 0; i < n; i++) {
        const double value = sorted[i < cut ? cut : i >= n - cut ? n - cut - 1 : i];
        sum += (value - winsorised) * (value - winsorised);
    }
    trimmed.se = sqrt(sum / ((double)kept * (double)(kept - 1)));
    trimmed.df = (double)(kept - 1);
    return trimmed;
}
