/* Matrix products in float64 for the MNIST oracle, on one thread, with the sums of a tile in
 * registers. */
#ifndef BENCH_WORKLOADS_MNIST_MATMUL_H
#define BENCH_WORKLOADS_MNIST_MATMUL_H

#include <stddef.h>

enum { MNIST_TILE_COLUMNS = 8 }; /* products are fast with a multiple of these columns */

/* sums (rows, columns) += left (rows, n) · right (n, columns). A `_row` is the distance between
 * rows in elements, `left_step` that between columns of `left`. */
typedef struct mnist_product {
    double *sums;
    const double *left, *right;
    size_t sums_row, left_row, left_step, right_row;
    size_t rows, columns, n;
} mnist_product_t;

/* The order of a sum's terms depends only on n. */
void mnist_multiply(const mnist_product_t *product);

#endif
