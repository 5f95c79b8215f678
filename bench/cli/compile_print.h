/* How `bench compile` shows its answer: tables for people, or one JSON object. */
#ifndef BENCH_CLI_COMPILE_PRINT_H
#define BENCH_CLI_COMPILE_PRINT_H

#include "compile/compile.h"

#include <stdio.h>

typedef struct compile_answer {
    const program_list_t *programs;
    char *compiler; /* as compile_describe() has it */
    double seconds; /* for all of them */
} compile_answer_t;

typedef struct compile_counts {
    size_t compiled, cached, skipped, failed; /* a cached skip is a skip */
    size_t lacking; /* of those skipped: because something is missing on this machine */
} compile_counts_t;

compile_counts_t compile_count(const program_list_t *programs);

/* A row for each workload, variant and architecture, the totals, why programs were skipped, and
 * what the compiler said of those that failed. */
void compile_print_tables(const compile_answer_t *answer, FILE *out);
void compile_print_json(const compile_answer_t *answer, FILE *out);

#endif
