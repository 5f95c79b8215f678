/* Cases that an operator is tried at before it is measured. */
#ifndef BENCH_EMULATE_EXAMPLES_H
#define BENCH_EMULATE_EXAMPLES_H

#include "workloads/common/workload.h"

/* A case of PyTorch's worker on the CPU: the default sizes, or the smallest. */
case_t example_case(const workload_t *workload, const char *dtype, bool smallest);
/* "rows=1 cols=1 f32", for messages; the caller frees it. */
char *example_sizes_text(const case_t *spec);

/* Number `which` of EXAMPLES with little to compute: the smallest sizes; the default ones, halved until arrays are small; those
 * less 1. Two may be the same, and one may be none of the operator's. */
enum { EXAMPLES = 3 };
case_t example_small(const workload_t *workload, const char *dtype, size_t which);
bool example_is_possible(const workload_t *workload, const case_t *spec);
/* The same case with another value of a param, by its number. */
case_t example_with(const workload_t *workload, const case_t *spec, size_t param, int64_t value);

#endif
