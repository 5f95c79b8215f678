/* Where NVIDIA's libraries and CUDA's own headers may be on this machine. */
#ifndef BENCH_CUDA_FIND_LIBRARY_H
#define BENCH_CUDA_FIND_LIBRARY_H

#include "base/text.h"

/* One of NVIDIA's libraries. Lists end with NULL. */
typedef struct library_places {
    const char *variable;       /* "BENCH_CUPTI": where it is set, that path is tried alone */
    const char *const *sonames; /* for the loader, the best first */
    const char *const *folders; /* seen from one that may hold NVRTC */
    const char *const *files;   /* glob patterns of its name there */
} library_places_t;
/* Paths and names to try, the best first. */
void library_candidates(const library_places_t *places, const char *root, text_list_t *paths);

/* Glob patterns of folders that may hold libnvrtc.so.*, in the order of preference. */
void nvrtc_find_folders(const char *root, text_list_t *patterns);
/* The match of a glob pattern that is newest by version number, or NULL; the caller frees it. */
char *nvrtc_newest_match(const char *pattern);
/* The newest file "libnvrtc.so.*" in the folders that match `pattern`, or NULL; the caller frees
 * it. */
char *nvrtc_find_library(const char *pattern);
/* The folder that holds cuda_fp16.h for the library at `path`: beside it, or in the places above.
 * NULL where there is none; the caller frees it. */
char *nvrtc_find_include(const char *root, const char *path);

#endif
