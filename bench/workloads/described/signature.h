/* The parameters of a described workload's kernels and functions, as C text and as values of a case. */
#ifndef BENCH_WORKLOADS_WORKLOAD_SIGNATURE_H
#define BENCH_WORKLOADS_WORKLOAD_SIGNATURE_H

#include "workloads/described/description.h"

/* Add WORKLOAD_TYPES, type letters as types; WORKLOAD_ARGUMENTS, the parameters: inputs, arrays in place, outputs, the
 * workspace (not in C), scalars, params that are not constants, of a training's kernels their step; WORKLOAD_STEPS, of a
 * training; WORKLOAD_CALL, the same read from `void *const *arguments`, of which each points to a value, as a launch has
 * them; and for kernels/common/by_value.cuh BY_VALUE_ARGUMENTS, with the weights' values, which take BY_VALUE_BYTES. */
void signature_add(const description_t *description, const case_t *spec, text_list_t *defines);

/* The variant of engine "cpu" that is the reference: reference.c. */
#define C_REFERENCE "reference"

/* Is the case the reference in C, whose floats are all doubles, but for scalars? */
bool signature_is_wide(const case_t *spec);

/* Bytes of weights by value: kernel parameters take 4 KiB, of which pointers, scalars and params need the rest. */
enum { BY_VALUE_MOST_BYTES = 3840 };

/* What scalars and params of a case point at. */
typedef struct signature_constants {
    described_value_t scalars[DESCRIBED_ARRAYS];
    int64_t params[DESCRIBED_PARAMS];
} signature_constants_t;

/* The values of a case, and pointers to those of its arguments that follow the arrays and the workspace; returns how many. */
size_t signature_constants(const description_t *description, const case_t *spec,
                           signature_constants_t *constants, void **arguments);

#endif
