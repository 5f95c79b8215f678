/* What `bench list` and `bench operator` print of an operator. */
#ifndef BENCH_CLI_OPERATOR_CHECK_H
#define BENCH_CLI_OPERATOR_CHECK_H

#include "workloads/common/workload.h"

#include <stdio.h>

/* Name, summary, folder, params, rungs and implementations. */
status_t operator_print(const workload_t *workload, const char *root, FILE *out, error_t *err);

#endif
