/* What counts as wrong: outputs of known error against a reference. */
#include "checks.h"
#include "io/fs.h"
#include "measure/verify.h"
#include "temporary_folder.h"

typedef struct folders {
    char *expected, *found;
} folders_t;

static int make_folders(void **state) {
    folders_t *f = mem_zeroed(1, sizeof *f);
    *state = f;
    error_t err = ERROR_INIT;
    return fs_temporary_folder(&f->expected, &err) == STATUS_OK &&
                   fs_temporary_folder(&f->found, &err) == STATUS_OK
               ? 0
               : -1;
}

static int remove_folders(void **state) {
    AUTO_FREE folders_t *f = *state;
    fs_remove_tree(f->expected, NULL);
    fs_remove_tree(f->found, NULL);
    free(f->expected);
    free(f->found);
    return 0;
}

static void write_array(const char *folder, const char *name, const double *values,
                        const size_t *shape, unsigned n_dimensions) {
    AUTO_FREE char *path = mem_format("%s/%s.npy", folder, name);
    assert_ok(npy_write(path, "f8", values, shape, n_dimensions, &err));
}

static void write_vector(const char *folder, const char *name, const double *values, size_t n) {
    write_array(folder, name, values, &n, 1);
}

/* Compare what is in f->found with the arrays `names` ("y", or "w,b") of f->expected. `says`: a part of the reason why it
 * is wrong; NULL: it is right. */
static check_t verify(const folders_t *f, const char *names, double tolerance, const char *says) {
    AUTO(text_list_free) text_list_t list = text_split(names, ',');
    AUTO(reference_free) reference_t reference;
    AUTO_FREE char *reason;
    assert_ok(reference_load(f->expected, &list, &reference, &err));
    check_t check;
    verify_outputs(&reference, f->found, tolerance, &check, &reason);
    assert_true(check.done || names[0] == '\0');
    assert_true(check.tolerance == tolerance);
    assert_int_equal(check.ok, says == NULL);
    if (says == NULL)
        assert_null(reason);
    else
        assert_has(reason, says);
    return check;
}

static void test_equal(void **state) {
    const folders_t *f = *state;
    const double y[] = {1, -2, 3e10, 4, 5, 6};
    write_array(f->expected, "y", y, (size_t[]){2, 3}, 2);
    write_array(f->found, "y", y, (size_t[]){2, 3}, 2);
    check_t check = verify(f, "y", 0, NULL);
    assert_true(check.rel_l2 == 0 && check.max_abs == 0);
    assert_true(check.row_rel_l2 == 0 && check.column_rel_l2 == 0);
}

/* ‖out − ref‖ / ‖ref‖ = 0.5 / 5; the tolerance itself is still right. */
static void test_tolerance_edges(void **state) {
    const folders_t *f = *state;
    write_vector(f->expected, "y", (double[]){3, 4}, 2);
    write_vector(f->found, "y", (double[]){3, 4.5}, 2);
    verify(f, "y", 0.1, NULL);
    verify(f, "y", nextafter(0.1, 0),
           "y differs from the reference output: relative L2 error 0.1, allowed 0.1; worst at "
           "element 1: 4.5, expected 4");
    check_t check = verify(f, "y", 1, NULL);
    assert_near(check.rel_l2, 0.1, 1e-7);
    assert_near(check.max_abs, 0.5, 0);
}

static void test_worst_element(void **state) {
    const folders_t *f = *state;
    enum { N = 1000 };
    AUTO_FREE double *y = mem_zeroed(N, sizeof *y);
    for (int i = 0; i < N; i++)
        y[i] = i;
    write_vector(f->expected, "y", y, N);
    y[123] += 1;
    y[777] -= 100;
    y[999] += 2;
    write_vector(f->found, "y", y, N);
    verify(f, "y", 1e-6, "worst at element 777: 677, expected 777");
}

static void test_reference_of_zeros(void **state) {
    const folders_t *f = *state;
    write_vector(f->expected, "y", (double[]){0, 0}, 2);
    write_vector(f->found, "y", (double[]){0, 0}, 2);
    verify(f, "y", 1e-5, NULL);
    write_vector(f->found, "y", (double[]){0, 1e-6}, 2);
    verify(f, "y", 1e-5, NULL);
    write_vector(f->found, "y", (double[]){0, 1e-3}, 2);
    verify(f, "y", 1e-5, "y differs from the reference output");
}

/* 5 - 4.999 = 0.001: an error of 1e-6 is 1e-3 of the sum, and 2e-7 of what it was summed from. */
static void test_a_sum_that_cancels_is_judged_by_its_terms(void **state) {
    const folders_t *f = *state;
    write_vector(f->expected, "y", (double[]){0.001}, 1);
    write_vector(f->expected, "y.scale", (double[]){5}, 1);
    write_vector(f->found, "y", (double[]){0.001001}, 1);
    const check_t check = verify(f, "y", 1e-6, NULL);
    assert_near(check.rel_l2, 2e-7, 1e-12);
    write_vector(f->found, "y", (double[]){0.001006}, 1);
    verify(f, "y", 1e-6, "relative L2 error 1.2e-06, allowed 1e-06");
    write_vector(f->expected, "y.scale", (double[]){0.0001}, 1);
    verify(f, "y", 1e-6, "relative L2 error 0.006, allowed 1e-06");
}

/* The terms of each of its sums count: of 100 elements, 100 times. */
static void test_an_array_of_sums_that_cancel(void **state) {
    const folders_t *f = *state;
    enum { N = 100 };
    double expected[N], found[N];
    for (int i = 0; i < N; i++) {
        expected[i] = 0.001;
        found[i] = 0.001001;
    }
    write_vector(f->expected, "y", expected, N);
    write_vector(f->expected, "y.scale", (double[]){5}, 1);
    write_vector(f->found, "y", found, N);
    const check_t check = verify(f, "y", 1e-6, NULL);
    assert_near(check.rel_l2, 2e-7, 1e-12);
}

/* Poison that was not overwritten: one NaN is wrong whatever the tolerance. Its sign, which bytes
 * of 0xFF have, says nothing. */
static void test_nan_is_wrong(void **state) {
    const folders_t *f = *state;
    write_vector(f->expected, "y", (double[]){1, 2, 3}, 3);
    write_vector(f->found, "y", (double[]){1, -NAN, 4}, 3);
    check_t check = verify(
        f, "y", 1e30,
        "y differs from the reference output: relative L2 error NaN, allowed 1e+30; worst at "
        "element 1: NaN, expected 2");
    assert_true(isnan(check.rel_l2) && isnan(check.max_abs));
    assert_true(isnan(check.row_rel_l2) && isnan(check.column_rel_l2));
}

static void test_infinity_is_wrong(void **state) {
    const folders_t *f = *state;
    write_vector(f->expected, "y", (double[]){1, 2}, 2);
    write_vector(f->found, "y", (double[]){1, INFINITY}, 2);
    verify(f, "y", 1e30, "worst at element 1: inf");
}

/* As log(0) is, or what a mask leaves out. */
static void test_an_infinity_may_be_expected(void **state) {
    const folders_t *f = *state;
    write_vector(f->expected, "y", (double[]){3, -INFINITY, 4}, 3);
    write_vector(f->found, "y", (double[]){3, -INFINITY, 4.5}, 3);
    check_t check = verify(f, "y", 0.11, NULL);
    assert_near(check.rel_l2, 0.1, 1e-7);
    write_vector(f->found, "y", (double[]){3, -1e30, 4}, 3);
    verify(f, "y", 1e30, "worst at element 1: -1e+30, expected -inf");
    write_vector(f->found, "y", (double[]){3, INFINITY, 4}, 3);
    verify(f, "y", 1e30, "worst at element 1: inf, expected -inf");
}

static void test_wrong_shape(void **state) {
    const folders_t *f = *state;
    const double y[] = {1, 2, 3, 4, 5, 6};
    write_array(f->expected, "y", y, (size_t[]){3, 2}, 2);
    write_array(f->found, "y", y, (size_t[]){6, 1}, 2);
    const check_t check = verify(f, "y", 1, "y has shape (6, 1), expected (3, 2)");
    assert_true(isnan(check.rel_l2)); /* 0 would say that there is no error */
    assert_true(isnan(check.max_abs));
    write_array(f->found, "y", y, (size_t[]){2, 2}, 2);
    verify(f, "y", 1, "y has shape (2, 2), expected (3, 2)");
    write_vector(f->found, "y", y, 6);
    verify(f, "y", 1, "y has shape (6,), expected (3, 2)");
    write_array(f->expected, "y", y, (size_t[]){6, 1}, 2);
    verify(f, "y", 1, "y has shape (6,), expected (6, 1)");
}

static void test_missing_file(void **state) {
    const folders_t *f = *state;
    write_vector(f->expected, "y", (double[]){1}, 1);
    check_t check = verify(f, "y", 1, "the worker wrote nothing, expected y");
    assert_true(isnan(check.rel_l2));
    write_vector(f->found, "out", (double[]){1}, 1);
    write_vector(f->found, "h", (double[]){1}, 1);
    verify(f, "y", 1, "the worker wrote h, out, expected y");
}

static void test_damaged_file(void **state) {
    const folders_t *f = *state;
    AUTO_FREE char *path = fs_join(f->found, "y.npy");
    write_vector(f->expected, "y", (double[]){1}, 1);
    assert_ok(fs_write_atomic(path, "not an array", 12, &err));
    verify(f, "y", 1, "y.npy");
}

/* The worst of all arrays is kept, and the first wrong one is named. */
static void test_several_arrays(void **state) {
    const folders_t *f = *state;
    write_vector(f->expected, "w", (double[]){1, 0}, 2);
    write_vector(f->expected, "b", (double[]){1}, 1);
    write_vector(f->found, "w", (double[]){1, 0.25}, 2);
    write_vector(f->found, "b", (double[]){1.125}, 1);
    check_t check = verify(f, "w,b", 0.5, NULL);
    assert_near(check.rel_l2, 0.25, 0);
    assert_near(check.max_abs, 0.25, 0);
    verify(f, "b,w", 0.2, "w differs");
}

static void test_nothing_to_compare(void **state) {
    assert_false(verify(*state, "", 1, NULL).done);
}

static void test_reference_that_is_not_there(void **state) {
    const folders_t *f = *state;
    AUTO(text_list_free) text_list_t names = text_split("y,z", ',');
    write_vector(f->expected, "y", (double[]){1}, 1);
    reference_t reference;
    assert_fails_with(reference_load(f->expected, &names, &reference, &err), STATUS_USAGE, "z.npy");
    assert_int_equal(reference.names.n, 0);
}

static void assert_mean(const reference_t *reference, const npy_t *a, const npy_t *b,
                        double error) {
    const npy_t *const of[2] = {a, b};
    check_t check;
    char *reason;
    verify_mean(reference, 0, of, 1, &check, &reason);
    assert_true(check.done && check.ok == (error <= 1) && check.ok == (reason == NULL));
    assert_near(check.rel_l2, error, 1e-12);
    free(reason);
}

/* ‖(a + b) / 2 − ref‖ / ‖ref‖, and of zeros; an infinity that both have is expected. */
static void test_means(void **state) {
    const folders_t *f = *state;
    enum { N = NPY_BLOCK + 5 };
    AUTO_FREE double *y = mem_zeroed(N, sizeof *y);
    y[0] = 3;
    y[NPY_BLOCK + 4] = 4;
    y[7] = INFINITY;
    write_vector(f->expected, "y", y, N);
    y[NPY_BLOCK + 4] = 5;
    write_vector(f->expected, "y.initial", y, N);
    AUTO(text_list_free) text_list_t names = text_split("y", ',');
    AUTO(reference_free) reference_t reference;
    assert_ok(reference_load(f->expected, &names, &reference, &err));
    const npy_t *expected = &reference.arrays[0], *initial = &reference.initial[0];
    assert_mean(&reference, expected, expected, 0);
    assert_mean(&reference, initial, initial, 0.2);
    assert_mean(&reference, expected, initial, 0.1);
    assert_mean(&reference, initial, expected, 0.1);
    reference.arrays[0].values[7] = 0;
    assert_mean(&reference, NULL, NULL, 1);
}

/* ‖out − ref‖ / ‖ref − before‖: what leaves an array as it was is off by all of it. */
static void test_changes(void **state) {
    const folders_t *f = *state;
    enum { N = NPY_BLOCK + 5 };
    double y[N], before[N];
    for (size_t i = 0; i < N; i++) {
        before[i] = 1000;
        y[i] = i % 2 == 0 ? 1001 : 999;
    }
    text_list_t names = text_split("y", ',');
    reference_t reference;
    char *reason;
    check_t check;
    write_vector(f->expected, "y", y, N);
    write_vector(f->expected, "y.initial", before, N);
    assert_ok(reference_load(f->expected, &names, &reference, &err));
    bounds_t *bounds = mem_zeroed(1, sizeof *bounds);
    *bounds = (bounds_t){0.5, INFINITY, true, 0};
    reference_bound(&reference, bounds);
    assert_near(reference.norms[0], N, 1e-12);
    for (size_t i = 0; i < N; i++)
        y[i] += 0.25;
    write_vector(f->found, "y", y, N);
    verify_outputs(&reference, f->found, 1, &check, &reason);
    assert_true(check.ok && reason == NULL);
    assert_near(check.rel_l2, 0.25, 1e-12);
    write_vector(f->found, "y", before, N);
    verify_outputs(&reference, f->found, 1, &check, &reason);
    assert_false(check.ok);
    assert_string_equal(reason, "the change of y differs from the reference output: relative L2 "
                                "error 1, allowed 0.5; worst at element 0: 0, expected 1");
    free(reason);
    reference_free(&reference);
    text_list_free(&names);
}

/* Of rows, too; but all of them must be there, and near. */
static void test_first_values(void **state) {
    const folders_t *f = *state;
    double y[6] = {1, 2, 3, 4, 5, 6};
    AUTO(text_list_free) text_list_t names = text_split("y", ',');
    AUTO(reference_free) reference_t reference;
    check_t check;
    char *reason;
    write_array(f->expected, "y", y, (size_t[]){3, 2}, 2);
    assert_ok(reference_load(f->expected, &names, &reference, &err));
    bounds_t *bounds = mem_zeroed(1, sizeof *bounds);
    *bounds = (bounds_t){1e-6, INFINITY, false, 2};
    reference_bound(&reference, bounds);
    y[4] = 6;
    write_array(f->found, "y", y, (size_t[]){3, 2}, 2);
    verify_outputs(&reference, f->found, 1, &check, &reason);
    assert_true(check.ok && reason == NULL);
    const double made_up[] = {10, NAN};
    for (size_t i = 0; i < 2; i++) {
        y[5] = made_up[i];
        write_array(f->found, "y", y, (size_t[]){3, 2}, 2);
        verify_outputs(&reference, f->found, 1, &check, &reason);
        assert_false(check.ok);
        assert_has(reason, "y differs from the reference output beyond its first 2 values: "
                           "relative L2 error ");
        assert_has(reason, i == 0 ? "0.528, allowed 0.25" : "NaN, allowed 0.25");
        free(reason);
    }
    y[5] = 6;
    write_array(f->found, "y", y, (size_t[]){2, 2}, 2);
    verify_outputs(&reference, f->found, 1, &check, &reason);
    assert_string_equal(reason, "y has shape (2, 2), expected (3, 2)");
    free(reason);
    y[3] = 5;
    write_array(f->found, "y", y, (size_t[]){3, 2}, 2);
    verify_outputs(&reference, f->found, 1, &check, &reason);
    assert_near(check.rel_l2, sqrt(1 / 30.0), 1e-12); /* of the four values' own norm */
    free(reason);
}

/* Of two runs, in `found` and `expected`; NULL: none is expected. */
static void check_difference(const folders_t *f, const char *expected) {
    AUTO(text_list_free) text_list_t names = text_split("y", ',');
    AUTO_FREE char *difference;
    assert_ok(verify_same_bits(&names, f->found, f->expected, &difference, &err));
    if (expected == NULL)
        assert_null(difference);
    else
        assert_has(difference, expected);
}

/* In arrays of several parts, that are read by several threads. */
static void test_the_first_other_bit_of_two_runs(void **state) {
    const folders_t *f = *state;
    enum { N = 1000003 };
    AUTO_FREE double *y = mem_zeroed(N, sizeof *y);
    write_vector(f->found, "y", y, N);
    write_vector(f->expected, "y", y, N);
    check_difference(f, NULL);
    for (size_t at = N - 1; at > 100000; at -= 99999) {
        y[at] = -0.0;
        write_vector(f->expected, "y", y, N);
        AUTO_FREE char *expected = mem_format("y, element %zu: 0 and -0", at);
        check_difference(f, expected);
    }
    write_vector(f->expected, "y", y, N - 1);
    check_difference(f, "the shape of y");
}

/* What is compared is what the bits mean. */
static void test_types_of_two_runs(void **state) {
    const folders_t *f = *state;
    AUTO_FREE char *found = fs_join(f->found, "y.npy"), *expected = fs_join(f->expected, "y.npy");
    error_t err = ERROR_INIT;
    const size_t n = 2;
    npy_write(found, "f4", (float[]){1, 2}, &n, 1, &err);
    npy_write(expected, "f8", (double[]){1, 2}, &n, 1, &err);
    check_difference(f, NULL);
    npy_write(expected, "f8", (double[]){1, 2.5}, &n, 1, &err);
    check_difference(f, "y, element 1: 2 and 2.5");
    const size_t many = 2 * NPY_BLOCK;
    AUTO_FREE char *bools = mem_zeroed(many, 1);
    bools[1] = 2;
    npy_write(found, "b1", bools, &many, 1, &err);
    bools[1] = 1;
    npy_write(expected, "b1", bools, &many, 1, &err);
    check_difference(f, NULL);
    bools[1] = 0;
    npy_write(expected, "b1", bools, &many, 1, &err);
    check_difference(f, "y, element 1: 1 and 0");
    assert_int_equal(err.status, STATUS_OK);
}

/* ---- Errors of single rows and columns that disappear in a whole array. */

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
    AUTO_FREE char *path = fs_join(folder, "y.npy");
    const unsigned n_dimensions = matrix->shape[1] == 0 ? 1 : 2;
    assert_ok(npy_write(path, "f4", matrix->values, matrix->shape, n_dimensions, &err));
}

/* The output of a contender that does `spoil` to what is expected. */
static check_t verify_spoiled(const folders_t *f, const matrix_t *y,
                              void (*spoil)(const matrix_t *), double tolerance, const char *says) {
    write_matrix(f->expected, y);
    spoil(y);
    write_matrix(f->found, y);
    free(y->values);
    return verify(f, "y", tolerance, says);
}

static void spoil_row_12345(const matrix_t *m) {
    m->values[12345] = 0;
}

/* Its share of the whole error is 1 / 4096, under the tolerance of float16. */
static void test_one_row_of_many(void **state) {
    const matrix_t y = make_matrix(1 << 24, 1);
    const check_t check = verify_spoiled(
        *state, &y, spoil_row_12345, 2e-3,
        "y differs from the reference output: row 12345: relative L2 error 1, allowed "
        "0.128; worst at element 12345: 0, expected -1");
    assert_true(check.rel_l2 < 2e-3);
    assert_true(check.row_rel_l2 == 1);
}

/* A vector's elements are its rows. */
static void test_one_element_of_many(void **state) {
    matrix_t y = make_matrix(1 << 20, 1);
    y.shape[1] = 0;
    verify_spoiled(*state, &y, spoil_row_12345, 2e-3,
                   "row 12345: relative L2 error 1, allowed 0.128");
}

static void spoil_column_77(const matrix_t *m) {
    for (size_t i = 77; i < m->shape[0] * m->shape[1]; i += m->shape[1])
        m->values[i] = 0;
}

/* As the gradient of a layer in TF32: 1 / √785 of the whole error. */
static void test_one_column_of_zeros(void **state) {
    const matrix_t gradient = make_matrix(32, 785);
    const check_t check =
        verify_spoiled(*state, &gradient, spoil_column_77, 5e-2,
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
    const check_t check = verify_spoiled(*state, &y, spoil_row_across_blocks, 1e-2,
                                         "row 1365: relative L2 error 1, allowed 0.64");
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
    const check_t check = verify_spoiled(*state, &y, spoil_tiny_lines, 1e-6, NULL);
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
    const check_t check = verify_spoiled(*state, &y, spoil_large_row, 1e-3, NULL);
    assert_true(fabs(check.row_rel_l2 * 1024 - 1) < 1e-3);
}

#define SET_UP make_folders
#define TEAR_DOWN remove_folders
#include "run_tests.h"
