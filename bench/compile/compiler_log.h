/* Parses compiler messages of NVRTC and nvcc: resources from ptxas -v, the reason of an
 * `#error SKIP: …`, and the relevant lines of a failure. */
#ifndef BENCH_COMPILE_COMPILER_LOG_H
#define BENCH_COMPILE_COMPILER_LOG_H

#include <stdint.h>

/* Maxima over the functions in the log. */
typedef struct ptxas_usage {
    int64_t registers;
    int64_t shared_bytes; /* static */
    int64_t spill_bytes;  /* stores + loads of one function */
} ptxas_usage_t;

ptxas_usage_t compile_log_usage(const char *log);

/* "needs exactly one hidden layer" if an `#error SKIP: …` stopped the compiler, else NULL. The
 * caller frees it. */
char *compile_log_skip(const char *log);

/* "cuda_fp16.h" if the first error is that this header was not found, else NULL. The caller frees
 * it. */
char *compile_log_missing_header(const char *log);

/* "FLT_MAX" if the first error is that this name is not defined, else NULL. The caller frees it. */
char *compile_log_undefined(const char *log);

/* The first lines from the first error on, without ptxas info; the caller frees it. */
char *compile_log_reason(const char *log);

#endif
