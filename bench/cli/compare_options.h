/* Command lines of compare and history, and of what `bench run` compares. */
#ifndef BENCH_CLI_COMPARE_OPTIONS_H
#define BENCH_CLI_COMPARE_OPTIONS_H

#include "cli/args.h"

struct run_options;
/* The options of `bench run --against` among all of them. */
status_t read_against_options(const cli_args_t *args, struct run_options *options, error_t *err);
extern const cli_option_t COMPARE_OPTIONS[];
extern const cli_option_t HISTORY_OPTIONS[];
status_t history_command(const cli_args_t *args, error_t *err);
status_t compare_command(const cli_args_t *args, error_t *err);

#endif
