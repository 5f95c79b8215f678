/* The operators of this process, as workloads. */
#ifndef BENCH_WORKLOADS_OPERATOR_OPERATORS_H
#define BENCH_WORKLOADS_OPERATOR_OPERATORS_H

#include "workloads/operator/description.h"

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
