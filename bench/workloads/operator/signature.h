/* The parameters of an operator's kernels and functions, as C text and as values of a case. */
#ifndef BENCH_WORKLOADS_OPERATOR_SIGNATURE_H
#define BENCH_WORKLOADS_OPERATOR_SIGNATURE_H

#include "workloads/operator/description.h"

/* Add OPERATOR_T; OPERATOR_ARGUMENTS, the parameters: inputs, arrays in place, outputs, the workspace (not in C), scalars,
 * params that are not constants; and OPERATOR_CALL, the same read from `void *const *arguments`, of which each points to a
 * value, as a launch has them. */
void operator_signature_add(const operator_description_t *description, element_t dtype, bool in_c,
                            text_list_t *defines);

/* What scalars and params of a case point at. */
typedef struct operator_constants {
    operator_value_t scalars[OPERATOR_ARRAYS];
    int64_t params[OPERATOR_PARAMS];
} operator_constants_t;

/* The values of a case, and pointers to those of its arguments that follow the arrays and the workspace; returns how many. */
size_t operator_constants_list(const operator_description_t *description, const case_t *spec,
                               operator_constants_t *constants, void **arguments);

#endif
