/* The output of `bench compile`: tables, or one JSON object. */
#ifndef BENCH_CLI_COMPILE_H
#define BENCH_CLI_COMPILE_H

#include "compile/compile.h"

#include <stdio.h>

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
