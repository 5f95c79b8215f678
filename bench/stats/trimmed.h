/* The trimmed mean: what most of many values share, whatever a few of them do. Tukey & McLaughlin
 * (1963), "Less vulnerable confidence and significance procedures for location", Sankhya A 25. */
#ifndef BENCH_STATS_TRIMMED_H
#define BENCH_STATS_TRIMMED_H

#include <stddef.h>

typedef struct stats_trimmed {
    double mean;   /* without the fifth of the values at either end; NaN for n = 0 */
    double se, df; /* from the winsorised values; se is NaN with fewer than two values left */
} stats_trimmed_t;

/* `sorted` is ascending. */
stats_trimmed_t stats_trimmed_of(const double *sorted, size_t n);

#endif
