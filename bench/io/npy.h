/* NumPy's .npy format (numpy.lib.format), versions 1 and 2, in which workers hand outputs to the
 * supervisor. Only C-ordered and little-endian: f2, f4, f8, i1, i4, i8, u1, b1 (bool). */
#ifndef BENCH_IO_NPY_H
#define BENCH_IO_NPY_H

#include "base/error.h"

#include <stddef.h>

enum { NPY_MAX_DIMENSIONS = 8 };

/* Widened to double, exactly: an i8 beyond 2^53 is refused. npy_free() frees `values`. */
typedef struct npy {
    double *values;
    size_t n;
    size_t shape[NPY_MAX_DIMENSIONS];
    unsigned n_dimensions;
    char type[4]; /* "f4", … as in the file */
} npy_t;

status_t npy_read(const char *path, npy_t *array, error_t *err);
void npy_free(npy_t *array);
size_t npy_element_bytes(const npy_t *array);

enum { NPY_BLOCK = 1 << 12 };

/* An open file: its size is known and checked before memory is spent on it. Several threads may read it. */
typedef struct npy_file {
    npy_t array; /* without values */
    char *path;
    int fd;
    size_t start; /* of the elements, in bytes */
} npy_file_t;

/* Checks the header, and that the file is as long as its shape says. */
status_t npy_open(const char *path, npy_file_t *file, error_t *err);
/* Elements from number `first`, at most NPY_BLOCK, within the array, as `values` or as the file's `bytes`. */
status_t npy_values(const npy_file_t *file, size_t first, size_t n, double *values, error_t *err);
status_t npy_bytes(const npy_file_t *file, size_t first, size_t n, void *bytes, error_t *err);
/* Also of one that npy_open() has refused. */
void npy_close(npy_file_t *file);

/* `type` as in npy_t, `values` of that type. */
status_t npy_write(const char *path, const char *type, const void *values, const size_t *shape,
                   unsigned n_dimensions, error_t *err);

#endif
