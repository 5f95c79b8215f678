/* What a case of a description may be: its params, their values in sweeps, and techniques. */
#ifndef BENCH_WORKLOADS_DESCRIBED_DESCRIPTION_PARAMS_H
#define BENCH_WORKLOADS_DESCRIBED_DESCRIPTION_PARAMS_H

#include "io/json.h"
#include "workloads/described/description.h"

/* Parts of workload.json; each leaves what it has read in the description. STATUS_USAGE: key, found and expected. */
/* May a param have this name? Ids and --set have others beside it. */
status_t check_param_name(const node_t *node, const char *name, const description_t *description,
                          error_t *err);
status_t read_params(const node_t *top, description_t *description, error_t *err);
/* "size", and "study". */
status_t read_size(const node_t *top, description_t *description, error_t *err);
status_t read_study(const node_t *top, description_t *description, error_t *err);
void free_study(struct study *study);
status_t read_techniques(const node_t *top, description_t *description, error_t *err);
/* Once params and dtypes are read. */
status_t check_sweep(const node_t *top, const description_t *description, error_t *err);

#endif
