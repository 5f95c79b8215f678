/* Subcommands of `bench workload`; their table is in workload.c. Operands are those after the subcommand's name. */
#ifndef BENCH_CLI_WORKLOAD_H
#define BENCH_CLI_WORKLOAD_H

#include "cli/args.h"
#include "emulate/examples.h"
#include "workloads/common/workload.h"

typedef struct workload_options {
    const char *root; /* the project's folder */
    const char *const *operands;
    size_t n_operands;
    const char *dir;        /* new: NULL: kernels/ of the project */
    text_list_t candidates; /* import */
    const char *out;        /* import: NULL: a temporary folder */
    bool train;             /* import: in training mode */
    bool emulate;           /* check: the rungs, too */
    const char *variant;    /* check: of these only this one; NULL: all */
    text_list_t sets;       /* check: params of the small cases */
    const cli_args_t *args; /* the complete command line */
} workload_options_t;

status_t described_check(const workload_options_t *options, error_t *err);

/* Does what can run on the CPU (PyTorch's eager mode, JAX, files in C) compute what the reference does? Prints what is right,
 * what was not tried and what is wrong. */
status_t described_check_contenders(const examples_t *examples, error_t *err);

/* Is the reference output such that a check can fail, at the default sizes? */
status_t described_check_oracle(const workload_t *workload, const char *root, error_t *err);

#endif
