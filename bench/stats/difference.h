/* How far an array is from the one that is expected: as a whole, and its worst element, row and column. */
#ifndef BENCH_STATS_DIFFERENCE_H
#define BENCH_STATS_DIFFERENCE_H

#include "io/npy.h"

/* The worst row or column. */
typedef struct line {
    double squares; /* of its error, relative to its own norm or that of an average line */
    size_t index;
} line_t;

typedef struct difference {
    double squares, max_abs; /* NaN anywhere makes both NaN */
    size_t worst;            /* element of max_abs */
    double found;            /* there */
    line_t row, column;      /* of no use if an element is NaN */
} difference_t;

/* What is compared: a file of the expected shape, or the mean of two arrays, or zeros. */
typedef struct found {
    const npy_file_t *file;
    const npy_t *of[2]; /* without a file; NULL: zeros */
} found_t;

/* The columns are the last axis, the rows all others; a vector is one column. */
size_t difference_columns(const npy_t *array);

/* Compare in one pass over both, on all cores that this thread may use; how many there are changes no bit. `norm`: squared, of
 * what is expected. */
status_t difference_find(const found_t *found, const npy_t *expected, double norm,
                         difference_t *difference, error_t *err);
/* The squared norm of an array without its infinities: where one is expected, anything else is infinitely wrong. */
double difference_norm(const npy_t *array);

#endif
