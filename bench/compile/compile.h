/* Compiles programs to cubins: with NVRTC in this process or nvcc as a child process, on all cores.
 * A content-addressed cache has as its key the hash of the source, the headers it includes, the -D
 * constants it mentions, the options, the architecture, and the compiler with its version. */
#ifndef BENCH_COMPILE_COMPILE_H
#define BENCH_COMPILE_COMPILE_H

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "compile/source.h"
#include "compile/toolchain.h"
#include "cuda/cubin.h"
#include "model/case.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The cache of compiled programs: <cache>/<aa>/<key>.cubin and <key>.json, where the key is the
 * hash of all inputs of a program. The .json is written last and contains the .cubin's hash, so an
 * entry is complete or absent, with any number of concurrent runs. */

/* The inputs of a program. */
typedef struct cache_inputs {
    const source_t *source;
    const text_list_t *defines, *options;
    const char *arch, *compiler; /* "sm_90"; kind and exact version */
} cache_inputs_t;

/* The output: a cubin, or the reason (`skip`) why the source does not support this case. */
typedef struct cache_entry {
    char *skip;
    char *cubin; /* path */
    char code_hash[HASH_TEXT];
    ptxas_usage_t usage;
    double compile_ns;
} cache_entry_t;

void compile_cache_key(const cache_inputs_t *inputs, char key[HASH_TEXT]);

/* True if the cache holds a complete entry, which the caller frees with cache_entry_free(). A
 * damaged entry counts as absent. */
bool compile_cache_load(const char *cache, const char *key, cache_entry_t *entry);

/* Store an entry, with the compiler's cubin unless it is a skip; sets entry->cubin. */
status_t compile_cache_store(const char *cache, const char *key, const cache_inputs_t *inputs,
                             const compiled_t *output, cache_entry_t *entry, error_t *err);
void cache_entry_free(cache_entry_t *entry);

typedef struct compile_options {
    const char *root;  /* the project's folder */
    const char *cache; /* NULL: $BENCH_CACHE or <root>/build/cache */
    compiler_t compiler;
    unsigned jobs;     /* 0: all cores */
    bool without_cuda; /* compile only what is in C */
    /* Called after each program, one call at a time; may be NULL. */
    void (*progress)(void *context, size_t done, size_t total);
    void *context;
} compile_options_t;

typedef enum program_status { PROGRAM_OK, PROGRAM_SKIPPED, PROGRAM_FAILED } program_status_t;

typedef struct program {
    /* "softmax" (NULL: kernels/common), "03_vectorized", "sm_90" */
    const char *workload, *variant, *arch;
    const char *source;  /* path of the .cu or .c */
    bool is_object;      /* a shared object of the user's own code (native.h), not a cubin */
    text_list_t defines; /* "BATCH=64", …: only those that the source mentions, sorted */
    /* Filled in by compile_all(): */
    program_status_t status;
    /* Why skipped (unsupported architecture, `#error SKIP: why` in the source, or something is
     * missing on this machine), or the compiler's first error lines with file and line. */
    const char *reason;
    bool lacking;      /* skipped because this machine lacks something: it may compile elsewhere */
    const char *cubin; /* path in the cache, of the shared object, too */
    bool cached;       /* found in the cache, not compiled now */
    const char *key;   /* cache key, hex */
    const char *code_hash;                        /* XXH3-128 of all kernels' machine code, hex */
    text_list_t flags;                            /* options and -D constants, without paths */
    int64_t registers, shared_bytes, spill_bytes; /* maximum over the kernels; static shared */
    double compile_ns;
    arena_t texts; /* owns the strings of these results */
} program_t;

typedef struct program_list {
    program_t *items;
    size_t n, capacity;
    source_set_t sources;
    arena_t texts; /* owns the strings that identify programs */
} program_list_t;

/* Add the program that `spec` needs for `arch` ("sm_90"; in C for this machine) unless the list has it; `*index` becomes
 * its index, or (size_t)-1 if it needs none: another engine, or a variant that is built in. Any
 * other without a .cu file is an error that names the path. */
status_t compile_add(const compile_options_t *options, const case_t *spec, const char *arch,
                     program_list_t *programs, size_t *index, error_t *err);

/* Add one that no case names: kernels/common/NAME.cu, which has LAUNCH and the one kernel NAME. */
status_t compile_add_common(const compile_options_t *options, const char *name, const char *arch,
                            program_list_t *programs, error_t *err);

/* Compile what the cache does not hold. Fails only if nothing can be compiled (no compiler: the
 * message says how to install one) or the cache cannot be written; a program that does not compile is PROGRAM_FAILED. */
status_t compile_all(const compile_options_t *options, program_list_t *programs, error_t *err);
/* Both, of the one program of a case; `programs` has it. */
status_t compile_case(const compile_options_t *options, const case_t *spec, const char *arch,
                      program_list_t *programs, const program_t **program, error_t *err);
void program_list_free(program_list_t *programs);

/* Does the compiler know each of these ("sm_90"; "native" is left out)? One that is newer than all that it knows may stand
 * beside a known one, and is then skipped. Fails if the compiler is not found, too. */
status_t compile_check_archs(const compile_options_t *options, const text_list_t *archs,
                             error_t *err);

/* The cache folder; the caller frees it. */
char *compile_cache_folder(const compile_options_t *options);

/* Set `*folder` to the folder of the CUDA headers for NVRTC, or NULL, and `*install` to the command
 * that installs them. Fails without NVRTC. The caller frees both. */
status_t compile_find_headers(const char *root, char **folder, char **install, error_t *err);

/* "NVRTC 13.0 (/usr/local/cuda/lib64/libnvrtc.so.13)"; the caller frees it. Fails if the compiler
 * is not found. */
status_t compile_describe(const compile_options_t *options, char **text, error_t *err);

#endif
