/* Command lines: a subcommand is a row in a table, and its options are a table too, from which
 * parsing, reading into the command's own struct, help and "did you mean" all come. Parsing itself
 * is getopt_long's. */
#ifndef BENCH_CLI_ARGS_H
#define BENCH_CLI_ARGS_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct cli_option;
/* Sets `field` from what was given, which is not empty. Not every reader needs all it gets. */
#define CLI_UNUSED __attribute__((unused))
#define CLI_READER(name)                                                                           \
    status_t name(const struct cli_option *option CLI_UNUSED, const text_list_t *given CLI_UNUSED, \
                  void *field, error_t *err CLI_UNUSED)

/* How an option is read, and into which field of the command's struct (CLI_STRUCT: it has the whole
 * of it). */
typedef struct cli_field {
    CLI_READER((*read)); /* NULL: the command asks cli_has() */
    size_t offset;
    long long low, high;        /* of a whole number */
    const char *const *choices; /* of an enum, in its order; ends with NULL */
} cli_field_t;

#define CLI_FIELD(read, type, member)                                                              \
    { read, offsetof(type, member), 0, 0, NULL }
#define CLI_RANGE(read, type, member, low, high)                                                   \
    { read, offsetof(type, member), low, high, NULL }
#define CLI_CHOICE(type, member, choices)                                                          \
    { cli_choice, offsetof(type, member), 0, 0, choices }
#define CLI_STRUCT(read)                                                                           \
    { read, 0, 0, 0, NULL }
#define CLI_ASKED CLI_STRUCT(NULL)

typedef struct cli_option {
    const char *name;     /* "out": given as --out */
    const char *argument; /* "DIR"; NULL for a flag */
    const char *summary;
    cli_field_t field;
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

/* Set the fields of the options that were given; the others keep what they have. */
status_t cli_read(const cli_args_t *args, void *fields, error_t *err);

/* What options can be. The last value given counts. */
CLI_READER(cli_flag);     /* bool */
CLI_READER(cli_text);     /* const char *, of the command line */
CLI_READER(cli_texts);    /* text_list_t: every value given; belongs to the command line */
CLI_READER(cli_number);   /* int or unsigned, from `low` to `high` */
CLI_READER(cli_number64); /* uint64_t */
CLI_READER(cli_choice);   /* an enum */
CLI_READER(cli_duration); /* double, seconds */
CLI_READER(cli_time);     /* the same, and more than 0 */
CLI_READER(cli_percent);  /* double, a fraction */

bool cli_has(const cli_args_t *args, const char *option);
/* The first of `names` (which end with NULL) that was given, or NULL. */
const char *cli_first(const cli_args_t *args, const char *const *names);
/* Every value given. */
const text_list_t *cli_all(const cli_args_t *args, const char *option);

void cli_print_help(const cli_command_t *command, FILE *out);

#endif
