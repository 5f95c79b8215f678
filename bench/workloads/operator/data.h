/* Inputs of an operator's case in host memory. Cases with equal ones share them. */
#ifndef BENCH_WORKLOADS_OPERATOR_DATA_H
#define BENCH_WORKLOADS_OPERATOR_DATA_H

#include "workloads/common/session_parts.h"
#include "workloads/operator/description.h"

typedef struct operator_data {
    shared_data_t shared;
    const operator_description_t *description;
    char *key; /* params and dtype */
    uint64_t seed;
    operator_shape_t shapes[OPERATOR_ARRAYS];
    void *values[OPERATOR_ARRAYS]; /* of inputs; NULL for outputs */
} operator_data_t;

/* Every take needs a release. Not thread-safe. */
const operator_data_t *operator_data_take(const operator_description_t *description,
                                          const case_t *spec, uint64_t seed);
/* Fill `values` with input number `i` of a refill seed. */
void operator_data_fill(const operator_data_t *data, size_t i, void *values, uint64_t refill);
/* Refill the case's own inputs. */
void operator_data_refill(const operator_data_t *data, uint64_t seed);
/* Write `values` as NAME.npy of array number `i`; bf16 as f32. */
status_t operator_data_write(const operator_data_t *data, size_t i, const void *values,
                             const char *folder, error_t *err);
void operator_data_release(const operator_data_t *data);

#endif
