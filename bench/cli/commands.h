/* The subcommands of bench: one visible table (commands.c). */
#ifndef BENCH_CLI_COMMANDS_H
#define BENCH_CLI_COMMANDS_H

#include "cli/args.h"

const cli_command_t *commands_all(size_t *n);
const cli_command_t *commands_find(const char *name); /* NULL when unknown */

/* Handlers that have files of their own. */
status_t list_command(const cli_args_t *args, error_t *err);
status_t doctor_command(const cli_args_t *args, error_t *err);
struct run_options;
/* The options of `bench run --against` among all of them. */
status_t read_against_options(const cli_args_t *args, struct run_options *options, error_t *err);
extern const cli_option_t COMPARE_OPTIONS[];
extern const cli_option_t HISTORY_OPTIONS[];
status_t history_command(const cli_args_t *args, error_t *err);
status_t compare_command(const cli_args_t *args, error_t *err);

#endif
