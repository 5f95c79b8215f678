/* One interface to two compilers: NVRTC in this process, or nvcc as a child process. */
#ifndef BENCH_COMPILE_TOOLCHAIN_H
#define BENCH_COMPILE_TOOLCHAIN_H

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "compile/source.h"
#include "cuda/cubin.h"

#include <stdint.h>

/* Parses compiler messages of NVRTC and nvcc: resources from ptxas -v, the reason of an
 * `#error SKIP: …`, and the relevant lines of a failure. */

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

/* The first lines from the first error on, without ptxas info; the caller frees it. */
char *compile_log_reason(const char *log);

/* The last two make shared objects (native.h). */
typedef enum compiler {
    COMPILER_NVRTC,
    COMPILER_NVCC,
    COMPILER_CC,
    COMPILER_NVCC_OBJECT,
    COMPILERS
} compiler_t;

typedef struct toolchain {
    compiler_t kind;
    const char *root;        /* the project's folder */
    const char *label;       /* "NVRTC 13.0", for messages */
    const char *path;        /* of the library or program */
    const char *fingerprint; /* kind and exact version */
    text_list_t archs;       /* "sm_75", …, ascending */
    const char *include;     /* folder of the CUDA headers for NVRTC, or NULL; nvcc finds its own */
    int major, minor;        /* of NVRTC */
    const char
        *cccl; /* folder of <cuda/std/…> and others of CCCL, or NULL: in `include`, or missing */
    const char *headers; /* hash of the CUDA headers, and of NVRTC's standard headers */
    text_list_t standard_names, standard_texts; /* for NVRTC: kernels/common/nvrtc */
    arena_t texts;                              /* owns the strings above */
    nvrtc_t *nvrtc;
} toolchain_t;

/* Path of a CUDA toolkit program: in $CUDA_HOME, $CUDA_PATH, on $PATH, in /usr/local/cuda; or NULL.
 * The caller frees it. */
char *toolchain_find_program(const char *name);

/* Fails if the compiler is not found; the message says how to install it. */
status_t toolchain_open(compiler_t kind, const char *root, toolchain_t *tools, error_t *err);
void toolchain_close(toolchain_t *tools);

/* NULL if the compiler supports `arch`, else why not; the caller frees it. */
char *toolchain_refuses(const toolchain_t *tools, const char *arch);

/* What this machine lacks according to the log of a failed compilation (a CUDA header, nvcc's host
 * compiler), and how to install it; NULL if the program is at fault. The caller frees it. */
char *toolchain_lacks(const toolchain_t *tools, const char *log);
/* What to write instead, if NVRTC does not know a header or a macro that the log names; NULL: nothing to say. The caller
 * frees it. */
char *toolchain_hint(const toolchain_t *tools, const char *log);
/* The command that installs the CUDA headers in a wheel ("nvidia-cuda-runtime") of NVRTC's version;
 * the caller frees it. */
char *toolchain_headers_install(const toolchain_t *tools, const char *wheel);
/* For cache keys: the compiler, and the CUDA headers if the source includes any. */
char *toolchain_identity(const toolchain_t *tools, const source_t *source);

/* Run a compiler, `what` in messages: its messages go to the log, and `file`, which it writes, is read. */
status_t toolchain_run(text_list_t *argv, const char *what, double timeout_s, const char *file,
                       compiled_t *output, error_t *err);
/* nvcc takes what follows -D for a list, separated by commas: append an option of it. */
void toolchain_add_without_commas(text_list_t *argv, const char *option);

/* Options other than the architecture and -D, in a fixed order: part of the cache key. */
void toolchain_options(const toolchain_t *tools, const source_t *source, text_list_t *options);

/* Compile; thread-safe. A program that does not compile gives `ok == false` and its log; an error
 * means that the compiler could not be run. */
status_t toolchain_compile(const toolchain_t *tools, const source_t *source, const char *arch,
                           const text_list_t *defines, compiled_t *output, error_t *err);

#endif
