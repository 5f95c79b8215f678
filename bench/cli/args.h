/* Command lines: a subcommand is a row in a table, and its options are a table too, from which
 * parsing, help and "did you mean" all come. Parsing itself is getopt_long's. */
#ifndef BENCH_CLI_ARGS_H
#define BENCH_CLI_ARGS_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct cli_option {
    const char *name;     /* "out": given as --out */
    const char *argument; /* "DIR"; NULL for a flag */
    const char *summary;
} cli_option_t;

typedef struct cli_args {
    const char *root; /* the project's folder */
    const cli_option_t *options;
    size_t n_options;
    text_list_t *values; /* as many lists as options: every value given, in order */
    text_list_t operands;
    const char *const *argv; /* the whole command line, for the record */
    size_t n_argv;
} cli_args_t;

typedef struct cli_command {
    const char *name, *operands, *summary;
    const char *details;         /* paragraphs under the options in the help; may be NULL */
    const cli_option_t *options; /* ends with a NULL name */
    status_t (*handle)(const cli_args_t *args, error_t *err);
    void (*print_details)(FILE *out); /* instead of `details`, where another table has them */
} cli_command_t;

/* Parse argv[first …] by the command's table. The caller frees with cli_args_free(). */
status_t cli_parse(const cli_command_t *command, int argc, char **argv, int first, cli_args_t *args,
                   error_t *err);
void cli_args_free(cli_args_t *args);

bool cli_has(const cli_args_t *args, const char *option);
/* The last value given; NULL when there is none. */
const char *cli_get(const cli_args_t *args, const char *option);
/* Every value given. */
const text_list_t *cli_all(const cli_args_t *args, const char *option);
/* A whole number from `low` to `high`, or `otherwise` when the option is not given. */
status_t cli_integer(const cli_args_t *args, const char *option, long long low, long long high,
                     long long otherwise, long long *value, error_t *err);

void cli_print_help(const cli_command_t *command, FILE *out);

#endif
