/* A value over a training, from a case's results: {"loss": [[epoch, value], …]}. */
#ifndef BENCH_ANALYSIS_CURVE_H
#define BENCH_ANALYSIS_CURVE_H

#include "model/result.h"

typedef struct curve {
    double *steps, *values; /* ascending; steps or epochs, by workload */
    size_t n;
} curve_t;

/* Empty if the case has no times or no valid curve `name`. Free it with curve_free(). */
curve_t curve_of(const case_result_t *result, const char *name);
void curve_free(curve_t *curve);

/* The value at exactly this step; NaN if none. */
double curve_at(const curve_t *curve, double step);
/* |value − reference| / |reference| at point i; NaN if the reference has no value there, or 0. */
double curve_difference(const curve_t *curve, size_t i, const curve_t *reference);

/* Running mean over `window` points (odd), without the ends. Free it with curve_free(). */
curve_t curve_smooth(const curve_t *curve, size_t window);
/* 21 points, or a tenth of those of a short curve; odd. */
size_t curve_window(const curve_t *curve);
/* The largest |a − b| over common steps; NaN if there are none. */
double curve_distance(const curve_t *a, const curve_t *b);

#endif
