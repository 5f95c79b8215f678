/* Opens a shared library at run time and fills a struct of function pointers from a table of symbol
 * names. */
#ifndef BENCH_CUDA_DYNLIB_H
#define BENCH_CUDA_DYNLIB_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct library_symbol {
    const char *name; /* exact, with its version suffix: "cuMemAlloc_v2" */
    size_t offset;    /* of the function pointer in the API struct */
    bool optional;    /* NULL if missing */
} library_symbol_t;

/* Open the first of `names` (NULL-terminated) that loads. Fails with "NAME not found" or dlopen's
 * other message for the first name, or with the name of the missing symbol. The library stays
 * open. */
status_t library_open(const char *const *names, const library_symbol_t *symbols, size_t n_symbols,
                      void *api, error_t *err);

/* Finds NVIDIA's libraries and the CUDA headers on this machine. */

/* One of NVIDIA's libraries. Lists end with NULL. */
typedef struct library_places {
    const char *variable;       /* "BENCH_CUPTI": if set, only that path is tried */
    const char *const *sonames; /* for the loader, best first */
    const char *const *folders; /* suffixes of a folder that may hold NVRTC */
    const char *const *files;   /* glob patterns of the file name there */
} library_places_t;

/* Paths and names to try, best first. */
void library_candidates(const library_places_t *places, const char *root, text_list_t *paths);
/* Open the first candidate that loads and return its name; the caller frees it. NULL if none loads;
 * `failures` lists those that exist but do not load, and the one that $variable names. */
char *library_find(const library_places_t *places, const char *root,
                   const library_symbol_t *symbols, size_t n_symbols, void *api,
                   text_list_t *failures);

/* Glob patterns of folders that may hold libnvrtc.so.*, in order of preference. */
void nvrtc_find_folders(const char *root, text_list_t *patterns);
/* The folder that holds cuda_fp16.h for the library at `path`: beside it, or in the folders above.
 * NULL if there is none; the caller frees it. */
char *nvrtc_find_include(const char *root, const char *path);

#endif
