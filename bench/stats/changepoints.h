/* Steps in the level of a series: a piecewise constant fit with a penalty for each step. Optimal
 * partitioning (Jackson et al. 2005, "An algorithm for optimal partitioning of data on an
 * interval") with the pruning of PELT (Killick, Fearnhead & Eckley 2012), squared error, and a
 * penalty similar to the Schwarz criterion. Its variance is a robust estimate from the differences
 * of neighbours, which excludes the steps themselves. */
#ifndef BENCH_STATS_CHANGEPOINTS_H
#define BENCH_STATS_CHANGEPOINTS_H

#include <stddef.h>

enum { CHANGEPOINTS_FEWEST = 6, CHANGEPOINTS_SEGMENT = 2 };

/* Standard deviation of the noise: 1.4826 times the median absolute difference of neighbours, over
 * sqrt(2); at least `least`. */
double changepoints_noise(const double *values, size_t n, double least);

/* The reduction in squared error that a step must bring: 4 · (1 + 15 / n) · noise² · ln(n). A step
 * has two parameters, place and level, so the Schwarz factor would be 2. But the noise is
 * estimated, and poorly from few values: with this penalty at most 3 in 100 series of 10 to 100
 * normal values have a step (tests/unit/test_changepoints.c). */
double changepoints_penalty(size_t n, double noise);

/* First indices of the segments into `starts` (room for n), starting with 0; returns their number.
 * A segment has at least CHANGEPOINTS_SEGMENT values, so one outlier is no step; a series shorter
 * than CHANGEPOINTS_FEWEST is one segment. `noise` > 0. */
size_t changepoints_find(const double *values, size_t n, double noise, size_t *starts);

#endif
