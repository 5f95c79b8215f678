/* The oracle's products of matrices against sums written out, at sizes that are no multiple of a
 * tile's or of a block's. */
#include "checks.h"
#include "workloads/mnist/oracle.h"

/* Small integers: every order of adding them up is exact. */
static double *new_matrix(size_t n, unsigned seed) {
    double *matrix = mem_alloc(n * sizeof *matrix);
    for (size_t i = 0; i < n; i++)
        matrix[i] = (double)((i * 2654435761u + seed) % 17) - 8;
    return matrix;
}

static void check(size_t rows, size_t columns, size_t n, bool transposed) {
    const size_t left_row = transposed ? 1 : n + 3, left_step = transposed ? rows + 2 : 1;
    const size_t right_row = columns + 5, sums_row = columns + 1;
    double *left = new_matrix(transposed ? n * left_step : rows * left_row, 1);
    double *right = new_matrix(n * right_row, 2), *sums = new_matrix(rows * sums_row, 3);
    double *before = mem_alloc(rows * sums_row * sizeof *before);
    memcpy(before, sums, rows * sums_row * sizeof *before);
    mnist_multiply(&(mnist_product_t){.sums = sums,
                                      .sums_row = sums_row,
                                      .left = left,
                                      .left_row = left_row,
                                      .left_step = left_step,
                                      .right = right,
                                      .right_row = right_row,
                                      .rows = rows,
                                      .columns = columns,
                                      .n = n});
    for (size_t j = 0; j < rows; j++)
        for (size_t i = 0; i < sums_row; i++) {
            double sum = before[j * sums_row + i];
            for (size_t k = 0; k < n && i < columns; k++)
                sum += left[j * left_row + k * left_step] * right[k * right_row + i];
            if (sums[j * sums_row + i] != sum)
                fail_msg("%zu x %zu x %zu: sum %zu, %zu is %g, expected %g", rows, columns, n, j, i,
                         sums[j * sums_row + i], sum);
        }
    free(before);
    free(sums);
    free(right);
    free(left);
}

static void test_every_size(void **state) {
    static const size_t ROWS[] = {1, 3, 4, 5, 9}, COLUMNS[] = {1, 7, 8, 9, 128, 140};
    static const size_t TERMS[] = {1, 10, 256, 300};
    for (size_t i = 0; i < 5 * 6 * 4 * 2; i++)
        check(ROWS[i % 5], COLUMNS[i / 5 % 6], TERMS[i / 30 % 4], i / 120);
}

/* A NaN goes where it belongs and nowhere else. */
static void test_not_a_number_spreads_along_its_row(void **state) {
    double left[5 * 3], right[3 * 9], sums[5 * 9] = {0};
    for (size_t i = 0; i < 15; i++)
        left[i] = i == 7 ? NAN : 1; /* row 2 */
    for (size_t i = 0; i < 27; i++)
        right[i] = 1;
    mnist_multiply(&(mnist_product_t){.sums = sums,
                                      .sums_row = 9,
                                      .left = left,
                                      .left_row = 3,
                                      .left_step = 1,
                                      .right = right,
                                      .right_row = 9,
                                      .rows = 5,
                                      .columns = 9,
                                      .n = 3});
    for (size_t i = 0; i < 45; i++)
        assert_true(i / 9 == 2 ? isnan(sums[i]) : sums[i] == 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_size),
        cmocka_unit_test(test_not_a_number_spreads_along_its_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
