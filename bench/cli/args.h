/* Command lines: a subcommand is a row in a table and has a table of options, which drives parsing
 * (getopt_long), reading into the command's struct, help and "did you mean". */
#ifndef BENCH_CLI_ARGS_H
#define BENCH_CLI_ARGS_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct cli_option;
/* Set `field` from the values given, at least one. Not every reader uses every parameter. */
#define CLI_UNUSED __attribute__((unused))
#define CLI_READER(name)                                                                           \
    status_t name(const struct cli_option *option CLI_UNUSED, const text_list_t *given CLI_UNUSED, \
                  void *field, error_t *err CLI_UNUSED)

/* How an option is read, and into which field of the command's struct (CLI_STRUCT: the reader gets
 * the struct). */
typedef struct cli_field {
    CLI_READER((*read)); /* NULL: the command asks cli_has() */
    size_t offset;
    long long low, high;        /* range of an integer */
    const char *const *choices; /* names of an enum, in its order; ends with NULL */
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
    text_list_t *values; /* for each option, every value given, in order */
    text_list_t operands;
    const char *const *argv; /* the complete command line, for run.json */
    size_t n_argv;
} cli_args_t;

typedef struct cli_command {
    const char *name, *operands, *summary;
    const char *details;         /* help text below the options; may be NULL */
    const cli_option_t *options; /* ends with a NULL name */
    status_t (*handle)(const cli_args_t *args, error_t *err);
    void (*print_details)(FILE *out); /* prints them from another table; may be NULL */
    const cli_option_t *of_run;       /* those that may follow "--", of bench run; or NULL */
} cli_command_t;

/* Parse argv[first …]. The caller frees `args` with cli_args_free(). */
status_t cli_parse(const cli_command_t *command, int argc, char **argv, int first, cli_args_t *args,
                   error_t *err);
void cli_args_free(cli_args_t *args);

/* Set the fields of the options that were given; other fields keep their values. */
status_t cli_read(const cli_args_t *args, void *fields, error_t *err);

/* Readers by the type of the field. The last value given counts. */
CLI_READER(cli_flag);      /* bool */
CLI_READER(cli_text);      /* const char *; args own it */
CLI_READER(cli_only_text); /* the same; refused if it is given twice */
CLI_READER(cli_texts);     /* text_list_t: every value given; args own it */
CLI_READER(cli_number);    /* int or unsigned, from `low` to `high` */
CLI_READER(cli_number64);  /* uint64_t */
CLI_READER(cli_choice);    /* an enum */
CLI_READER(cli_duration);  /* double, seconds */
CLI_READER(cli_time);      /* double, seconds, more than 0 */
CLI_READER(cli_percent);   /* double, a fraction */

bool cli_has(const cli_args_t *args, const char *option);
/* The first of `names` (NULL-terminated) that was given, or NULL. */
const char *cli_first(const cli_args_t *args, const char *const *names);
/* The options given for which `is` holds, as a command line takes them. The caller frees the list. */
text_list_t cli_given(const cli_args_t *args, bool (*is)(const cli_option_t *option));
/* Every value given. */
const text_list_t *cli_all(const cli_args_t *args, const char *option);

/* What its options of TIME take; NULL: it has none. */
const char *cli_units_note(const cli_command_t *command);
void cli_print_help(const cli_command_t *command, FILE *out);

#endif
