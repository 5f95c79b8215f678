/* Where a series of numbers steps to another level: a fit by constants with a penalty for each
 * step. Optimal partitioning (Jackson et al. 2005, "An algorithm for optimal partitioning of data
 * on an interval") with the pruning of PELT (Killick, Fearnhead & Eckley 2012), squared error, and
 * a penalty of the kind of Schwarz's criterion. The variance in it is that of neighbours'
 * differences, robustly, so that the steps themselves are not in it. */
#ifndef BENCH_STATS_CHANGEPOINTS_H
#define BENCH_STATS_CHANGEPOINTS_H

#include <stddef.h>

enum { CHANGEPOINTS_FEWEST = 6, CHANGEPOINTS_SEGMENT = 2 };

/* Standard deviation of the noise: 1.4826 times the median absolute difference of neighbours, over
 * sqrt(2); at least `least`. */
double changepoints_noise(const double *values, size_t n, double least);

/* What a step must gain in squared error: 4 · (1 + 15 / n) · noise² · ln(n). A step has two
 * parameters, its place and its level: 2 would be Schwarz's factor. But the noise is estimated, and
 * from few values badly: with this, of series of 10 to 100 values of normal noise at most 3 in 100
 * have a step (tests/unit/test_changepoints.c). */
double changepoints_penalty(size_t n, double noise);

/* First indices of the segments into `starts` (room for n), the first of them 0; returns how many
 * there are. A segment has at least CHANGEPOINTS_SEGMENT values, so one outlier is no step; a
 * series of fewer than CHANGEPOINTS_FEWEST is one segment. `noise` > 0. */
size_t changepoints_find(const double *values, size_t n, double noise, size_t *starts);

#endif
