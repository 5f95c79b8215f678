#include "workloads/mnist/matmul.h"

#include "base/target_clones.h"

enum { TILE_ROWS = 4, TILE_COLUMNS = MNIST_TILE_COLUMNS };

/* A block of the right factor stays in the L2 cache: 256 KiB. */
enum { BLOCK_COLUMNS = 128, BLOCK_DEPTH = 256 };

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* One named array per row of sums, so that compilers keep them in registers. */
WIDEST_VECTORS static void add_tile(const mnist_product_t *p) {
    double *restrict sums = p->sums;
    const double *restrict left = p->left, *restrict right = p->right;
    double s0[TILE_COLUMNS] = {0}, s1[TILE_COLUMNS] = {0};
    double s2[TILE_COLUMNS] = {0}, s3[TILE_COLUMNS] = {0};
    const size_t left_row = p->left_row, left_step = p->left_step, right_row = p->right_row;
    for (size_t k = 0, n = p->n; k < n; k++, left += left_step, right += right_row) {
        const double l0 = left[0], l1 = left[left_row];
        const double l2 = left[2 * left_row], l3 = left[3 * left_row];
#pragma omp simd
        for (size_t i = 0; i < TILE_COLUMNS; i++) {
            s0[i] += l0 * right[i];
            s1[i] += l1 * right[i];
            s2[i] += l2 * right[i];
            s3[i] += l3 * right[i];
        }
    }
    for (size_t i = 0; i < TILE_COLUMNS; i++) {
        sums[i] += s0[i];
        sums[p->sums_row + i] += s1[i];
        sums[2 * p->sums_row + i] += s2[i];
        sums[3 * p->sums_row + i] += s3[i];
    }
}

/* Fewer rows or columns than a tile. */
static void add_corner(const mnist_product_t *p) {
    for (size_t j = 0; j < p->rows; j++)
        for (size_t i = 0; i < p->columns; i++) {
            double sum = 0;
            for (size_t k = 0; k < p->n; k++)
                sum += p->left[j * p->left_row + k * p->left_step] * p->right[k * p->right_row + i];
            p->sums[j * p->sums_row + i] += sum;
        }
}

static void add_block(const mnist_product_t *p, size_t first, size_t columns, size_t from,
                      size_t n) {
    for (size_t j = 0; j < p->rows; j += TILE_ROWS)
        for (size_t i = first; i < first + columns; i += TILE_COLUMNS) {
            mnist_product_t tile = *p;
            tile.rows = smaller(p->rows - j, TILE_ROWS);
            tile.columns = smaller(first + columns - i, TILE_COLUMNS);
            tile.n = n;
            tile.sums += j * p->sums_row + i;
            tile.left += j * p->left_row + from * p->left_step;
            tile.right += from * p->right_row + i;
            if (tile.rows == TILE_ROWS && tile.columns == TILE_COLUMNS)
                add_tile(&tile);
            else
                add_corner(&tile);
        }
}

void mnist_multiply(const mnist_product_t *p) {
    for (size_t first = 0; first < p->columns; first += BLOCK_COLUMNS)
        for (size_t from = 0; from < p->n; from += BLOCK_DEPTH)
            add_block(p, first, smaller(p->columns - first, BLOCK_COLUMNS), from,
                      smaller(p->n - from, BLOCK_DEPTH));
}
