/* Subcommands of `bench operator`; their table is in operator.c. Operands are those after the subcommand's name. */
#ifndef BENCH_CLI_OPERATOR_H
#define BENCH_CLI_OPERATOR_H

#include "cli/args.h"

typedef struct operator_options {
    const char *root; /* the project's folder */
    const char *const *operands;
    size_t n_operands;
    const char *dir; /* --dir; NULL: kernels/ of the project */
} operator_options_t;

status_t operator_new(const operator_options_t *options, error_t *err);
status_t operator_check(const operator_options_t *options, error_t *err);

#endif
