/* Cases of a run that were measured while other programs took CPU time. */
#ifndef BENCH_ANALYSIS_BUSY_H
#define BENCH_ANALYSIS_BUSY_H

#include "results/record.h"

/* "other programs took over 5 % of the CPU time of 7 of 12 cases, 48 % of mlp_infer/cpu/omp/batch=64: …"; NULL if
 * there is none. The caller frees it. */
char *busy_sentence(const record_t *run);

#endif
