/* Products of matrices in float64 for the oracle of mnist_train, on one thread: sums of a tile stay
 * in registers while rows and columns go by. */
#ifndef BENCH_WORKLOADS_MNIST_MATMUL_H
#define BENCH_WORKLOADS_MNIST_MATMUL_H

#include <stddef.h>

enum { MNIST_TILE_COLUMNS = 8 }; /* products are fast where they have a multiple of these */

/* sums (rows, columns) += left (rows, n) · right (n, columns). A `_row` is the way from one row to
 * the next one, in elements; `left_step` that from one column of `left` to the next. */
typedef struct mnist_product {
    double *sums;
    const double *left, *right;
    size_t sums_row, left_row, left_step, right_row;
    size_t rows, columns, n;
} mnist_product_t;

/* The order in which a sum's terms are added depends on n alone. */
void mnist_multiply(const mnist_product_t *product);

#endif
