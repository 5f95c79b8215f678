/* Reading parameters of a case from JSON. */
#ifndef BENCH_SWEEP_PARAM_NODE_H
#define BENCH_SWEEP_PARAM_NODE_H

#include "io/json.h"
#include "workloads/common/workload.h"

/* A value that the parameter allows; on success the caller frees it with value_free(). */
status_t node_param(const node_t *node, const param_spec_t *param, value_t *value, error_t *err);

#endif
