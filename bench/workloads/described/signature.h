/* The parameters of a described workload's kernels and functions, as C text and as values of a case. */
#ifndef BENCH_WORKLOADS_WORKLOAD_SIGNATURE_H
#define BENCH_WORKLOADS_WORKLOAD_SIGNATURE_H

#include "workloads/described/description.h"

/* Add WORKLOAD_T; WORKLOAD_ARGUMENTS, the parameters: inputs (by value but in C, where they are), arrays in place, outputs, the workspace (not in C), scalars,
 * params that are not constants; and WORKLOAD_CALL, the same read from `void *const *arguments`, of which each points to a
 * value, as a launch has them. */
void signature_add(const description_t *description, const case_t *spec, bool in_c,
                   text_list_t *defines);

/* What scalars and params of a case point at. */
typedef struct signature_constants {
    described_value_t scalars[DESCRIBED_ARRAYS];
    int64_t params[DESCRIBED_PARAMS];
} signature_constants_t;

/* The values of a case, and pointers to those of its arguments that follow the arrays and the workspace; returns how many. */
size_t signature_constants(const description_t *description, const case_t *spec,
                           signature_constants_t *constants, void **arguments);

#endif
