/* NVIDIA's compute-sanitizer on a program: one sample of one of its cases in a worker of its own,
 * under each tool. Verdicts are kept under the cache of compiled programs, by the program, the tool
 * and its version: the same program is run once. */
#ifndef BENCH_MEASURE_SANITIZER_H
#define BENCH_MEASURE_SANITIZER_H

#include "base/error.h"
#include "compile/compile.h"
#include "model/case.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sanitizer {
    char *path;    /* of compute-sanitizer */
    char *version; /* as it tells it */
} sanitizer_t;

/* What is run under it. */
typedef struct sanitize_input {
    const case_t *spec;
    const program_t *program; /* compiled */
    const char *cache;        /* folder of compiled programs */
    uint64_t seed;
    int device;
    double timeout_s; /* of one tool */
} sanitize_input_t;

typedef struct sanitize_output {
    char *verdict; /* "clean", "3 errors", "not run: why" */
    char *example; /* id of the case it was found with */
    char *log;     /* what the tool printed; NULL where it could not be started */
    bool cached;
} sanitize_output_t;

/* $CUDA_HOME, $CUDA_PATH, $PATH, /usr/local/cuda. STATUS_FAILED where it is not, or cannot run. */
status_t sanitizer_find(sanitizer_t *sanitizer, error_t *err);
void sanitizer_free(sanitizer_t *sanitizer);

/* Names of the tools that programs are run under. `*n` gets their number. */
const char *const *sanitizer_tools(size_t *n);

/* Whatever goes wrong is part of the verdict. The caller frees the output. */
void sanitize_program(const sanitizer_t *sanitizer, const char *tool, const sanitize_input_t *input,
                      sanitize_output_t *output);
void sanitize_output_free(sanitize_output_t *output);

/* The verdict that a tool's output tells; `expected` answers of a worker stand between its lines.
 * The caller frees it. */
char *sanitize_verdict(const char *printed, size_t expected);

#endif
