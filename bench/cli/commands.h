/* The subcommands of bench: one visible table (commands.c). */
#ifndef BENCH_CLI_COMMANDS_H
#define BENCH_CLI_COMMANDS_H

#include "cli/args.h"

const cli_command_t *commands_all(size_t *n);
const cli_command_t *commands_find(const char *name); /* NULL when unknown */

/* Handlers that have files of their own. */
status_t list_command(const cli_args_t *args, error_t *err);
status_t doctor_command(const cli_args_t *args, error_t *err);

#endif
