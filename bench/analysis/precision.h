/* How narrow the intervals over passes of a run are, by the phases that its cases are compared by. */
#ifndef BENCH_ANALYSIS_PRECISION_H
#define BENCH_ANALYSIS_PRECISION_H

#include "results/record.h"

/* "median interval ±0.8 %, widest ±4.1 % (mlp_infer/cpu/omp/batch=64); asked: ±2 %, reached in 31 of 40 cases", of all
 * runs together. What was asked is known where the number of passes was open. NULL: no case has an interval. The caller
 * frees it. */
char *precision_text(const record_t *const *runs, size_t n);

#endif
