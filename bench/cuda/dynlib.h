/* Opening a foreign library at run time and filling a struct of function pointers from a table of
 * symbol names. A door to a library is such a table and nothing else. */
#ifndef BENCH_CUDA_DYNLIB_H
#define BENCH_CUDA_DYNLIB_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct library_symbol {
    const char *name; /* exact, with its version suffix: "cuMemAlloc_v2" */
    size_t offset;    /* of the function pointer in the API struct */
    bool optional;    /* a missing one stays NULL */
} library_symbol_t;

/* Try `names` (NULL-terminated) in order; the first that opens wins. Fails with "NAME not found" or
 * what else dlopen said of the first one, or with the name of the symbol that is missing.
 * `*handle`, which may be left out as NULL, stays open for good. */
status_t library_open(const char *const *names, const library_symbol_t *symbols, size_t n_symbols,
                      void *api, void **handle, error_t *err);

#endif
