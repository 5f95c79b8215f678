/* Command lines of run and plan. */
#ifndef BENCH_CLI_RUN_OPTIONS_H
#define BENCH_CLI_RUN_OPTIONS_H

#include "cli/args.h"
#include "compile/toolchain.h"

extern const cli_option_t RUN_OPTIONS[], PLAN_OPTIONS[];
status_t run_command(const cli_args_t *args, error_t *err);
status_t plan_command(const cli_args_t *args, error_t *err);

/* --compiler and --arch, which other subcommands have too. The caller frees `arch`. */
status_t read_compiler(const cli_args_t *args, compiler_t *compiler, error_t *err);
status_t read_arch(const cli_args_t *args, text_list_t *arch, error_t *err);

#endif
