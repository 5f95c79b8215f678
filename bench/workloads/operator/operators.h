/* The operators of this process, as workloads. */
#ifndef BENCH_WORKLOADS_OPERATOR_OPERATORS_H
#define BENCH_WORKLOADS_OPERATOR_OPERATORS_H

#include "workloads/common/session_parts.h"
#include "workloads/operator/description.h"

/* Inputs of an operator's case in host memory. Cases with equal ones share them. */

typedef struct operator_data {
    shared_data_t shared;
    const operator_description_t *description;
    char *key; /* params and dtype */
    uint64_t seed;
    char *made;    /* folder of inputs that a function makes (measure/made_inputs.h); or NULL */
    error_t *lost; /* why they could not be read */
    operator_shape_t shapes[OPERATOR_ARRAYS];
    void *values[OPERATOR_ARRAYS]; /* of inputs; NULL for outputs */
} operator_data_t;

/* Every take needs a release. Not thread-safe. */
const operator_data_t *operator_data_take(const operator_description_t *description,
                                          const case_t *spec, uint64_t seed, const char *made);
/* Could all inputs be had? To be asked after a take or a refill. */
status_t operator_data_check(const operator_data_t *data, error_t *err);
/* Fill `values` with input number `i` of a refill seed. */
void operator_data_fill(const operator_data_t *data, size_t i, void *values, uint64_t refill);
/* Refill the case's own inputs. */
void operator_data_refill(const operator_data_t *data, uint64_t seed);
/* Write `values` as NAME.npy of array number `i`; bf16 as f32. */
status_t operator_data_write(const operator_data_t *data, size_t i, const void *values,
                             const char *folder, error_t *err);
void operator_data_release(const operator_data_t *data);

/* Read and add the operator of a folder. STATUS_USAGE if the description is wrong, or its name is that of another
 * operator or, by `is_taken` (may be NULL), of something else; adding a folder again does nothing. */
status_t operators_add(const char *folder, bool (*is_taken)(const char *name),
                       const operator_description_t **added, error_t *err);
/* Add the copy in a saved run, unless an operator has its name; `file` is for messages. */
status_t operators_add_saved(const char *file, const json_t *description, error_t *err);

/* Look for operators in <root>/kernels, too: that of a folder is read when its name is first asked for, or all are. */
void operators_search(const char *root, bool (*is_taken)(const char *name),
                      void (*left_out)(const char *why));

/* NULL for another workload. */
const operator_description_t *operators_find(const char *name);
const workload_t *operators_find_workload(const char *name);
/* Number `index`; NULL beyond the last. */
const workload_t *operators_workload(size_t index);

/* What a case moves, computes and allocates, without a workspace; as workload_t.cost. */
workload_cost_t operators_cost(const case_t *spec);

/* The value of "operator" in the request `open`: arrays and scalars of this case, and where its files are. STATUS_FAILED
 * for a shape that cannot be computed. */
status_t operators_request(const operator_description_t *description, const case_t *spec,
                           json_t **request, error_t *err);

#endif
