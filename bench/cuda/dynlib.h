/* Opens a shared library at run time and fills a struct of function pointers from a table of symbol
 * names. */
#ifndef BENCH_CUDA_DYNLIB_H
#define BENCH_CUDA_DYNLIB_H

#include "base/error.h"

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

#endif
