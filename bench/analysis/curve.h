/* A value over a training, as a case's own results keep it: {"loss": [[epoch, value], …]}. */
#ifndef BENCH_ANALYSIS_CURVE_H
#define BENCH_ANALYSIS_CURVE_H

#include "model/result.h"

typedef struct curve {
    double *steps, *values; /* by ascending step: epochs or steps, as the workload counts */
    size_t n;
} curve_t;

/* An empty curve when the case has no times, or nothing that can be read under `name`. Free it with
 * curve_free(). */
curve_t curve_of(const case_result_t *result, const char *name);
void curve_free(curve_t *curve);

/* The value at exactly this step; NaN when none was kept. */
double curve_at(const curve_t *curve, double step);
/* |value − reference's| / |reference's| at point i of the curve; NaN where the reference has no
 * value at that step, or 0. */
double curve_difference(const curve_t *curve, size_t i, const curve_t *reference);

/* Running mean over `window` points, an odd number, around each that has so many. Free it with
 * curve_free(). */
curve_t curve_smooth(const curve_t *curve, size_t window);
/* 21 points, or a tenth of those of a short curve; odd. */
size_t curve_window(const curve_t *curve);
/* The largest |a − b| at a step that both have; NaN where there is none. */
double curve_distance(const curve_t *a, const curve_t *b);

#endif
