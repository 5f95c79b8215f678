/* Programs → cubins: NVRTC in this process (or nvcc as a child), all cores, and a content-addressed
 * cache whose key is the hash of exactly what goes in: source, the headers it includes, the -D
 * constants it mentions, options, architecture, compiler and its version. */
#ifndef BENCH_COMPILE_COMPILE_H
#define BENCH_COMPILE_COMPILE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "compile/source.h"
#include "compile/toolchain.h" /* compiler_t */
#include "model/case.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct compile_options {
    const char *root;  /* the project's folder */
    const char *cache; /* NULL: $BENCH_CACHE or <root>/build/cache */
    compiler_t compiler;
    unsigned jobs; /* 0: all cores */
    /* Called after each program, from one thread at a time; may be NULL. */
    void (*progress)(void *context, size_t done, size_t total);
    void *context;
} compile_options_t;

typedef enum program_status { PROGRAM_OK, PROGRAM_SKIPPED, PROGRAM_FAILED } program_status_t;

typedef struct program {
    const char *workload, *variant, *arch; /* "mlp_infer", "03_vectorized", "sm_90" */
    const char *source;                    /* path of the .cu */
    text_list_t defines; /* "BATCH=64", …: only those that the source mentions, sorted */
    /* Filled in by compile_all(): */
    program_status_t status;
    const char *reason; /* why skipped (the compiler does not know the architecture, the source says
                     `#error SKIP: why`, or something is missing here), or the compiler's first
                     lines with file and line */
    bool lacking; /* skipped because something that it needs is missing here: nobody knows whether
                     it compiles */
    const char *cubin;     /* path in the cache */
    bool cached;           /* it was there already */
    const char *key;       /* cache key, hex */
    const char *code_hash; /* XXH3-128 over the machine code of all kernels, hex */
    text_list_t flags;     /* what the compiler was told: options and -D constants; without paths */
    int64_t registers, shared_bytes,
        spill_bytes; /* largest over the kernels; static shared memory */
    double compile_ns;
    arena_t texts; /* of these results */
} program_t;

typedef struct program_list {
    program_t *items;
    size_t n, capacity;
    source_set_t sources; /* read so far */
    arena_t texts;        /* of what tells programs apart */
} program_list_t;

/* Add the program that `spec` needs for `arch` ("sm_90"), unless an equal one is there. Returns its
 * index in `*index`. A case whose engine is not "cuda" needs none: index is (size_t)-1. A ladder
 * workload whose rung has no .cu file is an error that names the path. */
status_t compile_add(const compile_options_t *options, const case_t *spec, const char *arch,
                     program_list_t *programs, size_t *index, error_t *err);

/* Compile whatever the cache does not hold. Fails only where nothing could be tried (no compiler:
 * the message says how to get one); a program that does not compile is PROGRAM_FAILED with its log.
 */
status_t compile_all(const compile_options_t *options, program_list_t *programs, error_t *err);
void program_list_free(program_list_t *programs);

/* Where compiled programs are kept; the caller frees it. */
char *compile_cache_folder(const compile_options_t *options);

/* The folder of CUDA's own headers, in `*folder`, NULL where they are not; and what installs them,
 * in `*install`. Fails where there is no NVRTC; nvcc has its own. The caller frees both. */
status_t compile_find_headers(const char *root, char **folder, char **install, error_t *err);

/* "NVRTC 13.0 (/usr/local/cuda/lib64/libnvrtc.so.13)", or an error that says what was looked for.
 */
status_t compile_describe(const compile_options_t *options, char **text, error_t *err);

#endif
