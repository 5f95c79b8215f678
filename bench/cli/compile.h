/* `bench compile`: build every program of some sweeps for a list of architectures, on a machine
 * that needs no GPU, and say what came of it. */
#ifndef BENCH_CLI_COMPILE_H
#define BENCH_CLI_COMPILE_H

#include "base/error.h"
#include "base/text.h"
#include "compile/toolchain.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct compile_command_options {
    const char *root; /* the project's folder */
    const char *const *sweeps;
    size_t n_sweeps;
    text_list_t arch; /* "sm_90", …; empty: what each sweep lists, "native" left out */
    compiler_t compiler;
    unsigned jobs;     /* 0: all cores */
    const char *cache; /* NULL: the default folder */
    bool json;         /* a JSON object instead of tables */
    bool progress;     /* a line on stderr that counts up */
    FILE *out;         /* where the answer goes */
} compile_command_options_t;

/* STATUS_FAILED when a program does not compile (after the whole answer was printed). */
status_t compile_command(const compile_command_options_t *options, error_t *err);

#endif
