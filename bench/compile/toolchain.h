/* The two compilers behind one face: NVRTC in this process, or nvcc as a child. */
#ifndef BENCH_COMPILE_TOOLCHAIN_H
#define BENCH_COMPILE_TOOLCHAIN_H

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "compile/source.h"
#include "cuda/nvrtc.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum compiler { COMPILER_NVRTC, COMPILER_NVCC } compiler_t;

typedef struct toolchain {
    compiler_t kind;
    const char *root;        /* the project's folder */
    const char *label;       /* "NVRTC 13.0", for people */
    const char *path;        /* of the library or program */
    const char *fingerprint; /* kind and version as exactly as it tells them */
    text_list_t archs;       /* "sm_75", …, ascending */
    const char *include;     /* CUDA's own headers for NVRTC, or NULL; nvcc knows its own */
    int major, minor;        /* of NVRTC */
    const char *headers;     /* hash of those, or NULL */
    arena_t texts;           /* what these live in */
    nvrtc_t *nvrtc;
} toolchain_t;

/* A program of the CUDA toolkit: in $CUDA_HOME, $CUDA_PATH, on $PATH, in /usr/local/cuda; NULL
 * where it is not. The caller frees it. */
char *toolchain_find_program(const char *name);

/* Fails where the compiler is absent; the message says how to get it. */
status_t toolchain_open(compiler_t kind, const char *root, toolchain_t *tools, error_t *err);
void toolchain_close(toolchain_t *tools);

/* NULL when it compiles for `arch`, else why not; the caller frees it. */
char *toolchain_refuses(const toolchain_t *tools, const char *arch);

/* NULL, or what `log`, of a program that did not compile, says is missing on this machine and is no
 * fault of the program: a header of CUDA's own, the host compiler of nvcc; and how to get it. The
 * caller frees it. */
char *toolchain_lacks(const toolchain_t *tools, const char *log);
/* What installs the headers of CUDA's that are in one of NVIDIA's wheels ("nvidia-cuda-runtime"),
 * in NVRTC's version; the caller frees it. */
char *toolchain_headers_install(const toolchain_t *tools, const char *wheel);
/* For cache keys: the compiler, and CUDA's headers where the source includes any. */
char *toolchain_identity(const toolchain_t *tools, const source_t *source);

/* Options other than the architecture and -D, in a fixed order: part of the cache key. */
void toolchain_options(const toolchain_t *tools, const source_t *source, text_list_t *options);

/* Compile; may be called from several threads at once. A program that does not compile is
 * `ok == false` with its log, an error means that the compiler itself could not be run. */
status_t toolchain_compile(const toolchain_t *tools, const source_t *source, const char *arch,
                           const text_list_t *defines, compiled_t *output, error_t *err);

#endif
