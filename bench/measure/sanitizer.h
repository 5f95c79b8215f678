/* Check a program with NVIDIA's compute-sanitizer: take one sample of one of its cases under each
 * tool, in a separate worker. Verdicts are cached by program, tool and version. */
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
    char *version; /* from --version */
} sanitizer_t;

typedef struct sanitize_input {
    const case_t *spec;
    const program_t *program; /* compiled */
    const char *cache;        /* folder of compiled programs */
    const char *inputs;       /* … of inputs that a function makes; or NULL */
    uint64_t seed;
    int device;
    double timeout_s; /* per tool */
} sanitize_input_t;

typedef struct sanitize_output {
    char *verdict; /* "clean", "3 errors", "not run: why" */
    char *example; /* id of the case that was run */
    char *log;     /* output of the tool; NULL if it did not start */
    bool cached;
} sanitize_output_t;

/* Look in $CUDA_HOME, $CUDA_PATH, $PATH, /usr/local/cuda. STATUS_FAILED: not found, or broken; to be freed all the same. */
status_t sanitizer_find(sanitizer_t *sanitizer, error_t *err);
void sanitizer_free(sanitizer_t *sanitizer);

/* Names of the tools to run; ends with NULL. */
extern const char *const SANITIZER_TOOLS[];

/* Failures become part of the verdict. The caller frees the output. */
void sanitize_program(const sanitizer_t *sanitizer, const char *tool, const sanitize_input_t *input,
                      sanitize_output_t *output);
void sanitize_output_free(sanitize_output_t *output);

/* The verdict from a tool's output, which also contains `expected` answers of the worker. The
 * caller frees it. */
char *sanitize_verdict(const char *printed, size_t expected);

#endif
