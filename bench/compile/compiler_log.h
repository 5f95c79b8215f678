/* What the compiler says, NVRTC and nvcc alike: resources from ptxas -v, the reason of a
 * `#error SKIP: …`, and the lines of a failure that are worth showing. */
#ifndef BENCH_COMPILE_COMPILER_LOG_H
#define BENCH_COMPILE_COMPILER_LOG_H

#include <stdint.h>

/* The largest of each over the functions in the log. */
typedef struct ptxas_usage {
    int64_t registers;
    int64_t shared_bytes; /* static */
    int64_t spill_bytes;  /* stored and loaded, of one function */
} ptxas_usage_t;

ptxas_usage_t compile_log_usage(const char *log);

/* "needs exactly one hidden layer" when an `#error SKIP: …` stopped the compiler, else NULL. The
 * caller frees it. */
char *compile_log_skip(const char *log);

/* "cuda_fp16.h" where the first thing that went wrong is an #include of it that finds no file, else
 * NULL. The caller frees it. */
char *compile_log_missing_header(const char *log);

/* The first lines from the first error on, without ptxas's notes; the caller frees it. */
char *compile_log_reason(const char *log);

#endif
