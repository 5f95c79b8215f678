/* Errors of single rows and columns that disappear in a whole array. */
#include "checks.h"
#include "io/fs.h"
#include "measure/verify.h"
#include "temporary_folder.h"

typedef struct matrix {
    float *values;
    size_t shape[2];
} matrix_t;

static matrix_t make_matrix(size_t n_rows, size_t n_columns) {
    matrix_t matrix = {mem_zeroed(n_rows * n_columns, sizeof(float)), {n_rows, n_columns}};
    for (size_t i = 0; i < n_rows * n_columns; i++)
        matrix.values[i] = i % 2 == 0 ? 1 : -1;
    return matrix;
}

static void write_matrix(const char *folder, const matrix_t *matrix) {
    char *path = fs_join(folder, "y.npy");
    const unsigned n_dimensions = matrix->shape[1] == 0 ? 1 : 2;
    assert_ok(npy_write_f32(path, matrix->values, matrix->shape, n_dimensions, &err));
    free(path);
}

/* The output of a contender that does `spoil` to what is expected. `says`: NULL if it is right. */
static check_t verify(const matrix_t *expected, void (*spoil)(const matrix_t *), double tolerance,
                      const char *says) {
    char *folder, *reason;
    error_t err = ERROR_INIT;
    text_list_t names = text_split("y", ',');
    reference_t reference;
    check_t check;
    folder = temporary_folder();
    write_matrix(folder, expected);
    assert_int_equal(reference_load(folder, &names, &reference, &err), STATUS_OK);
    spoil(expected);
    write_matrix(folder, expected);
    verify_outputs(&reference, folder, tolerance, &check, &reason);
    assert_int_equal(check.ok, says == NULL);
    if (says != NULL && strstr(reason, says) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", reason, says);
    free(reason);
    reference_free(&reference);
    text_list_free(&names);
    fs_remove_temporary(&folder);
    free(expected->values);
    return check;
}

static void spoil_row_12345(const matrix_t *m) {
    m->values[12345] = 0;
}

/* Its share of the whole error is 1 / 4096, under the tolerance of float16. */
static void test_one_row_of_many(void **state) {
    const matrix_t y = make_matrix(1 << 24, 1);
    const check_t check =
        verify(&y, spoil_row_12345, 2e-3,
               "y differs from the reference output: row 12345: relative L2 error 1, allowed "
               "0.128; worst at element 12345: 0, expected -1");
    assert_true(check.rel_l2 < 2e-3);
    assert_true(check.row_rel_l2 == 1);
}

/* A vector's elements are its rows. */
static void test_one_element_of_many(void **state) {
    matrix_t y = make_matrix(1 << 20, 1);
    y.shape[1] = 0;
    verify(&y, spoil_row_12345, 2e-3, "row 12345: relative L2 error 1, allowed 0.128");
}

static void spoil_column_77(const matrix_t *m) {
    for (size_t i = 77; i < m->shape[0] * m->shape[1]; i += m->shape[1])
        m->values[i] = 0;
}

/* As the gradient of a layer in TF32: 1 / √785 of the whole error. */
static void test_one_column_of_zeros(void **state) {
    const matrix_t gradient = make_matrix(32, 785);
    const check_t check = verify(&gradient, spoil_column_77, 5e-2,
                                 "column 77: relative L2 error 1, allowed 0.4; worst at element "
                                 "77 (row 0, column 77): 0, expected -1");
    assert_true(check.rel_l2 < 5e-2);
    assert_true(check.column_rel_l2 == 1);
}

static void spoil_row_across_blocks(const matrix_t *m) {
    const size_t row = NPY_BLOCK / 3;
    assert_true(row * 3 < NPY_BLOCK && row * 3 + 3 > NPY_BLOCK);
    for (size_t k = 0; k < 3; k++)
        m->values[3 * row + k] *= 2;
}

static void test_row_across_blocks(void **state) {
    const matrix_t y = make_matrix(1 << 15, 3);
    const check_t check =
        verify(&y, spoil_row_across_blocks, 1e-2, "row 1365: relative L2 error 1, allowed 0.64");
    assert_true(check.row_rel_l2 == 1);
}

/* A row that is nearly zero may be off by what an average row may be off by, and so may a column. */
static void spoil_tiny_lines(const matrix_t *m) {
    for (size_t i = 0; i < m->shape[0]; i++)
        for (size_t k = 0; k < m->shape[1]; k++)
            if (i == 0 || k == 0)
                m->values[i * m->shape[1] + k] *= 2;
}

static void test_tiny_lines(void **state) {
    const matrix_t y = make_matrix(100, 100);
    for (size_t i = 0; i < 100; i++)
        y.values[i] = y.values[100 * i] = 1e-6f;
    const check_t check = verify(&y, spoil_tiny_lines, 1e-6, NULL);
    assert_true(fabs(check.row_rel_l2 / 1e-6 - 1) < 0.02);
    assert_true(fabs(check.column_rel_l2 / 1e-6 - 1) < 0.02);
}

/* A large row may be off by its share. */
static void spoil_large_row(const matrix_t *m) {
    for (size_t k = 0; k < m->shape[1]; k++)
        m->values[k] *= 1 + 1.0f / 1024;
}

static void test_large_row(void **state) {
    const matrix_t y = make_matrix(64, 8);
    for (size_t k = 0; k < 8; k++)
        y.values[k] *= 1024;
    const check_t check = verify(&y, spoil_large_row, 1e-3, NULL);
    assert_true(fabs(check.row_rel_l2 * 1024 - 1) < 1e-3);
}

static void leave_as_is(const matrix_t *m) {
    (void)m;
}

static void test_exact(void **state) {
    const matrix_t y = make_matrix(5, 7);
    const check_t check = verify(&y, leave_as_is, 0, NULL);
    assert_true(check.row_rel_l2 == 0 && check.column_rel_l2 == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_row_of_many),
        cmocka_unit_test(test_one_element_of_many),
        cmocka_unit_test(test_one_column_of_zeros),
        cmocka_unit_test(test_row_across_blocks),
        cmocka_unit_test(test_tiny_lines),
        cmocka_unit_test(test_large_row),
        cmocka_unit_test(test_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
