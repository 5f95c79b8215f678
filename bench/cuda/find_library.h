/* Finds NVIDIA's libraries and the CUDA headers on this machine. */
#ifndef BENCH_CUDA_FIND_LIBRARY_H
#define BENCH_CUDA_FIND_LIBRARY_H

#include "base/text.h"
#include "cuda/dynlib.h"

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
