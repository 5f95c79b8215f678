/* The cache of compiled programs: <cache>/<aa>/<key>.cubin and <key>.json, where the key is the
 * hash of all inputs of a program. The .json is written last and contains the .cubin's hash, so an
 * entry is complete or absent, with any number of concurrent runs. */
#ifndef BENCH_COMPILE_CACHE_H
#define BENCH_COMPILE_CACHE_H

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "compile/compiler_log.h"
#include "compile/source.h"
#include "cuda/nvrtc.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif
