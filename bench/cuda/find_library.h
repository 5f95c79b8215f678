/* Where NVRTC and CUDA's own headers may be on this machine. */
#ifndef BENCH_CUDA_FIND_LIBRARY_H
#define BENCH_CUDA_FIND_LIBRARY_H

#include "base/text.h"

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
