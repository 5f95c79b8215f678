/* The subcommands of bench; their table is in commands.c. */
#ifndef BENCH_CLI_COMMANDS_H
#define BENCH_CLI_COMMANDS_H

#include "cli/args.h"
#include "compile/compile.h"

#include <stdio.h>

const cli_command_t *commands_all(void);              /* ends with a NULL name */
const cli_command_t *commands_find(const char *name); /* NULL when unknown */

/* Commands and options from other files. */
extern const cli_option_t RUN_OPTIONS[], PLAN_OPTIONS[], COMPARE_OPTIONS[], HISTORY_OPTIONS[],
    FLEET_OPTIONS[], REPEAT_OPTIONS[], COMPILE_OPTIONS[], WORKLOAD_OPTIONS[], CLUSTER_OPTIONS[];
status_t run_command(const cli_args_t *args, error_t *err);
status_t plan_command(const cli_args_t *args, error_t *err);
status_t cluster_command(const cli_args_t *args, error_t *err);
status_t compare_command(const cli_args_t *args, error_t *err);
status_t history_command(const cli_args_t *args, error_t *err);
status_t fleet_command(const cli_args_t *args, error_t *err);
status_t repeat_command(const cli_args_t *args, error_t *err);
status_t compile_command(const cli_args_t *args, error_t *err);
status_t list_command(const cli_args_t *args, error_t *err);
status_t doctor_command(const cli_args_t *args, error_t *err);
status_t workload_command(const cli_args_t *args, error_t *err);
void workload_print_subcommands(FILE *out);

/* The words after `bench run`, as run_command() takes them. The caller frees `args` with cli_args_free(). */
status_t run_parse(const char *root, const text_list_t *words, cli_args_t *args, error_t *err);
/* Does run_command() take these words beside --workload? The workload need not exist yet. */
status_t run_check_words(const char *root, const text_list_t *words, error_t *err);
/* The words of a call for the record: those of `paths` as named from the project's folder, in which a report's reader
 * measures again. */
text_list_t run_argv(const cli_args_t *args, const text_list_t *paths);

/* --compiler and --arch of run and compile. */
extern const char *const COMPILER_CHOICES[];
CLI_READER(cli_arch); /* text_list_t; the caller frees it */
/* --workload of run, plan and compile: adds the workload of a folder. const char *: its name. */
CLI_READER(cli_workload);

/* The output of `bench compile`: tables, or one JSON object. */

typedef struct compile_answer {
    const program_list_t *programs;
    char *compiler; /* from compile_describe() */
    double seconds; /* wall time for all */
} compile_answer_t;

/* A row for each workload, variant and architecture; reasons of skips; the compiler's output for
 * failures; totals. */
void compile_print_tables(const compile_answer_t *answer, FILE *out);
void compile_print_json(const compile_answer_t *answer, FILE *out);

#endif
