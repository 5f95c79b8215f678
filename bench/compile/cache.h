/* The cache of compiled programs: <cache>/<aa>/<key>.cubin and <key>.json, where the key is the
 * hash of everything that goes into a program. The .json is written last and names the .cubin's
 * hash, so an entry is there completely or not at all, with any number of runs at once. */
#ifndef BENCH_COMPILE_CACHE_H
#define BENCH_COMPILE_CACHE_H

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "compile/compiler_log.h"
#include "compile/source.h"

#include <stdbool.h>
#include <stddef.h>

/* What a program is made of. */
typedef struct cache_inputs {
    const source_t *source;
    const text_list_t *defines, *options;
    const char *arch, *compiler; /* "sm_90"; kind and exact version */
} cache_inputs_t;

/* What came out: a cubin, or (skip != NULL) the source's own word that it cannot serve this case.
 */
typedef struct cache_entry {
    char *skip;
    char *cubin; /* path */
    char code_hash[HASH_TEXT];
    ptxas_usage_t usage;
    double compile_ns;
} cache_entry_t;

void compile_cache_key(const cache_inputs_t *inputs, char key[HASH_TEXT]);

/* True when the cache holds a complete entry; the caller frees it with cache_entry_free(). Anything
 * damaged counts as absent. */
bool compile_cache_load(const char *cache, const char *key, cache_entry_t *entry);

/* Publish an entry, with its cubin unless it is a skip; sets entry->cubin. */
status_t compile_cache_store(const char *cache, const char *key, const cache_inputs_t *inputs,
                             const void *cubin, size_t cubin_bytes, cache_entry_t *entry,
                             error_t *err);
void cache_entry_free(cache_entry_t *entry);

#endif
