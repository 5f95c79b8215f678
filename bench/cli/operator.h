/* Subcommands of `bench operator`; their table is in operator.c. Operands are those after the subcommand's name. */
#ifndef BENCH_CLI_OPERATOR_H
#define BENCH_CLI_OPERATOR_H

#include "cli/args.h"
#include "workloads/common/workload.h"

typedef struct operator_options {
    const char *root; /* the project's folder */
    const char *const *operands;
    size_t n_operands;
    const char *dir; /* --dir; NULL: kernels/ of the project */
} operator_options_t;

status_t operator_new(const operator_options_t *options, error_t *err);
status_t operator_check(const operator_options_t *options, error_t *err);

/* Name, summary, folder, params, rungs and implementations: for `bench list` and `bench operator check`. */
status_t operator_print(const workload_t *workload, const char *root, FILE *out, error_t *err);
/* The path as seen from the current folder; the caller frees it. */
char *path_from_here(const char *path);

#endif
