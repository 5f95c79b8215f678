#include "measure/verify.h"

#include "base/memory.h"
#include "io/fs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row is a sample, or a neuron with its weights: one image more or less in which it is switched on
 * changes its gradient, and hardly any other. docs/measuring.md derives both. */
const double VERIFY_ROW_FACTOR = 64, VERIFY_COLUMN_FACTOR = 8;

static char *array_path(const char *folder, const char *name) {
    return mem_format("%s/%s.npy", folder, name);
}

/* The number in NAME.scale.npy, or 0 without such a file. */
static status_t read_scale(const char *folder, const char *name, double *scale, error_t *err) {
    *scale = 0;
    char *path = mem_format("%s/%s.scale.npy", folder, name);
    npy_t array;
    const bool scaled = fs_exists(path);
    const status_t status = scaled ? npy_read(path, &array, err) : STATUS_OK;
    if (scaled && status == STATUS_OK) {
        *scale = array.n > 0 ? array.values[0] : 0;
        npy_free(&array);
    }
    free(path);
    return status;
}

/* NAME.initial.npy, without values if there is no such file. */
static status_t read_initial(const char *folder, const char *name, npy_t *array, error_t *err) {
    char *path = mem_format("%s/%s.initial.npy", folder, name);
    *array = (npy_t){0};
    const status_t status = fs_exists(path) ? npy_read(path, array, err) : STATUS_OK;
    free(path);
    return status;
}

/* An infinity has no part in a norm: where one is expected, anything else is infinitely wrong. */
static double square(double value) {
    return isinf(value) ? 0 : value * value;
}

static status_t load_array(const char *folder, const char *name, npy_t *array, double *norm,
                           error_t *err) {
    double scale;
    TRY(read_scale(folder, name, &scale, err));
    char *path = array_path(folder, name);
    const status_t status = npy_read(path, array, err);
    free(path);
    if (status != STATUS_OK)
        return status;
    *norm = 0;
    for (size_t k = 0; k < array->n; k++)
        *norm += square(array->values[k]);
    *norm = fmax(*norm, scale * scale * (double)array->n);
    return STATUS_OK;
}

status_t reference_load(const char *folder, const text_list_t *names, reference_t *reference,
                        error_t *err) {
    *reference = (reference_t){.arrays = mem_zeroed(names->n, sizeof(npy_t)),
                               .initial = mem_zeroed(names->n, sizeof(npy_t)),
                               .norms = mem_zeroed(names->n, sizeof(double))};
    for (size_t i = 0; i < names->n; i++) {
        text_list_add(&reference->names, names->items[i]);
        status_t status =
            load_array(folder, names->items[i], &reference->arrays[i], &reference->norms[i], err);
        if (status == STATUS_OK)
            status = read_initial(folder, names->items[i], &reference->initial[i], err);
        if (status != STATUS_OK) {
            reference_free(reference);
            return status;
        }
    }
    return STATUS_OK;
}

void reference_free(reference_t *reference) {
    for (size_t i = 0; i < reference->names.n; i++) {
        npy_free(&reference->arrays[i]);
        npy_free(&reference->initial[i]);
    }
    free(reference->arrays);
    free(reference->initial);
    free(reference->norms);
    free(reference->bounds);
    text_list_free(&reference->names);
    *reference = (reference_t){0};
}

static bool same_shape(const npy_t *a, const npy_t *b) {
    return a->n_dimensions == b->n_dimensions &&
           memcmp(a->shape, b->shape, a->n_dimensions * sizeof *a->shape) == 0;
}

/* The worst row or column. */
typedef struct line {
    double squares; /* of its error, relative to its own norm or that of an average line */
    size_t index;
} line_t;

typedef struct difference {
    double squares, max_abs; /* NaN anywhere makes both NaN */
    size_t worst;            /* element of max_abs */
    double found;            /* there */
    line_t row, column;
} difference_t;

/* A comparison, block by block. */
typedef struct comparison {
    const npy_t *expected;
    double mean_square; /* of what is expected; infinite if that is all 0: no line is wrong then */
    size_t n_columns;
    double row_squares, row_norm;          /* of the row's elements so far */
    double *column_squares, *column_norms; /* NULL: one column */
    difference_t difference;
} comparison_t;

/* The columns are the last axis, the rows all others; a vector is one column. */
static size_t columns_of(const npy_t *array) {
    return array->n_dimensions < 2 ? 1 : array->shape[array->n_dimensions - 1];
}

static void note_line(line_t *worst, size_t index, double squares, double norm, double average) {
    const double scale = fmax(norm, average);
    if (squares > worst->squares * scale)
        *worst = (line_t){squares / scale, index};
}

/* Elements `first` to `first + n` of the array, all in one row. */
static void add_part_of_row(comparison_t *c, const double *found, size_t first, size_t n) {
    const double *expected = c->expected->values + first;
    difference_t *sum = &c->difference;
    const size_t column = first % c->n_columns;
    for (size_t i = 0; i < n; i++) {
        const double d = found[i] == expected[i] ? 0 : found[i] - expected[i];
        c->row_squares += d * d;
        c->row_norm += square(expected[i]);
        if (c->column_squares != NULL) {
            c->column_squares[column + i] += d * d;
            c->column_norms[column + i] += square(expected[i]);
        }
        if (!(fabs(d) <= sum->max_abs) && !isnan(sum->max_abs)) {
            sum->max_abs = fabs(d);
            sum->worst = first + i;
            sum->found = found[i];
        }
    }
    if (column + n < c->n_columns)
        return;
    note_line(&sum->row, first / c->n_columns, c->row_squares, c->row_norm,
              c->mean_square * (double)c->n_columns);
    sum->squares += c->row_squares;
    c->row_squares = c->row_norm = 0;
}

/* What is compared with the reference: a file, or the mean of two arrays, or zeros. */
typedef struct found {
    npy_file_t *file;
    const npy_t *of[2]; /* without a file; NULL: zeros */
    size_t at;
} found_t;

static status_t next_block(found_t *found, size_t all, double block[NPY_BLOCK], size_t *n,
                           error_t *err) {
    if (found->file != NULL)
        return npy_next(found->file, block, n, err);
    *n = all - found->at < NPY_BLOCK ? all - found->at : NPY_BLOCK;
    for (size_t i = 0; i < *n; i++) {
        const double a = found->of[0] != NULL ? found->of[0]->values[found->at + i] : 0;
        const double b = found->of[1] != NULL ? found->of[1]->values[found->at + i] : 0;
        block[i] = a == b ? a : a / 2 + b / 2; /* infinities stay */
    }
    found->at += *n;
    return STATUS_OK;
}

static status_t compare_rows(comparison_t *c, found_t *found, error_t *err) {
    double block[NPY_BLOCK];
    for (size_t at = 0, n; at < c->expected->n; at += n) {
        TRY(next_block(found, c->expected->n, block, &n, err));
        for (size_t i = 0, part; i < n; i += part) {
            const size_t left = c->n_columns - (at + i) % c->n_columns;
            part = left < n - i ? left : n - i;
            add_part_of_row(c, block + i, at + i, part);
        }
    }
    return STATUS_OK;
}

static status_t compare(found_t *found, const npy_t *expected, double norm,
                        difference_t *difference, error_t *err) {
    comparison_t c = {.expected = expected,
                      .mean_square = norm > 0 ? norm / (double)expected->n : INFINITY,
                      .n_columns = columns_of(expected)};
    const size_t n_columns = c.n_columns;
    if (n_columns > 1) {
        c.column_squares = mem_zeroed(n_columns, sizeof *c.column_squares);
        c.column_norms = mem_zeroed(n_columns, sizeof *c.column_norms);
    }
    const status_t status = compare_rows(&c, found, err);
    for (size_t k = 0; k < n_columns && c.column_squares != NULL && status == STATUS_OK; k++)
        note_line(&c.difference.column, k, c.column_squares[k], c.column_norms[k],
                  c.mean_square * (double)(expected->n / n_columns));
    free(c.column_squares);
    free(c.column_norms);
    *difference = c.difference;
    return status;
}

/* As NumPy writes it: "(6,)", "(3, 2)". The caller frees it. */
static char *shape_text(const npy_t *array) {
    text_list_t sizes = {0};
    for (unsigned i = 0; i < array->n_dimensions; i++)
        text_list_add_format(&sizes, "%zu", array->shape[i]);
    char *joined = text_list_join(&sizes, ", ");
    char *text = mem_format(array->n_dimensions == 1 ? "(%s,)" : "(%s)", joined);
    free(joined);
    text_list_free(&sizes);
    return text;
}

/* printf would write "-nan" for poison that was not overwritten. */
static const char *number_text(char text[32], int digits, double value) {
    if (isnan(value))
        return "NaN";
    snprintf(text, 32, "%.*g", digits, value);
    return text;
}

static void fail(check_t *check, char **reason, char *why) {
    check->ok = false;
    *reason = why;
}

static void not_compared(check_t *check, char **reason, char *why) {
    check->rel_l2 = check->max_abs = check->row_rel_l2 = check->column_rel_l2 = NAN;
    fail(check, reason, why);
}

/* "the worker wrote out, expected y". The caller frees it. */
static char *missing_text(const reference_t *reference, const char *folder) {
    enum { SHOWN = 8 };
    static const char SUFFIX[] = ".npy";
    text_list_t files = {0}, names = {0};
    fs_list(folder, SUFFIX, &files, NULL);
    for (size_t i = 0; i < files.n && i < SHOWN; i++)
        text_list_add_format(&names, "%.*s", (int)(strlen(files.items[i]) - strlen(SUFFIX)),
                             files.items[i]);
    if (files.n > SHOWN)
        text_list_add(&names, "…");
    char *found = text_list_join(&names, ", "), *expected = text_list_join(&reference->names, ", ");
    char *text =
        mem_format("the worker wrote %s, expected %s", files.n > 0 ? found : "nothing", expected);
    free(expected);
    free(found);
    text_list_free(&names);
    text_list_free(&files);
    return text;
}

/* "element 5: 0, expected 2.5"; with rows and columns "element 5 (row 2, column 1): …". */
static char *worst_text(const difference_t *difference, const npy_t *expected) {
    const size_t n_columns = columns_of(expected), at = difference->worst;
    char text[2][32];
    const char *actual = number_text(text[0], 9, difference->found);
    const char *right = number_text(text[1], 9, expected->values[at]);
    return n_columns > 1 ? mem_format("element %zu (row %zu, column %zu): %s, expected %s", at,
                                      at / n_columns, at % n_columns, actual, right)
                         : mem_format("element %zu: %s, expected %s", at, actual, right);
}

static void keep_larger(double *largest, double value) {
    if (!(value <= *largest))
        *largest = value;
}

/* What is compared with what. */
typedef struct pair {
    const char *name;
    npy_t expected;
    double norm;    /* of what is expected */
    double max_abs; /* allowed */
} pair_t;

static void note_difference(const difference_t *d, const pair_t *pair, check_t *check,
                            char **reason) {
    const npy_t *expected = &pair->expected;
    const double norm = pair->norm, max_abs = pair->max_abs;
    const double rel_l2 = sqrt(norm > 0 ? d->squares / norm : d->squares);
    const double row = isnan(rel_l2) ? NAN : sqrt(d->row.squares);
    const double column = isnan(rel_l2) ? NAN : sqrt(d->column.squares);
    const double tolerance = check->tolerance;
    keep_larger(&check->rel_l2, rel_l2);
    keep_larger(&check->max_abs, d->max_abs);
    keep_larger(&check->row_rel_l2, row);
    keep_larger(&check->column_rel_l2, column);
    char where[32] = "", error[32];
    const char *what = "relative L2";
    double wrong = rel_l2, allowed = tolerance;
    if (rel_l2 <= tolerance && d->max_abs > max_abs) {
        what = "largest";
        wrong = d->max_abs;
        allowed = max_abs;
    } else if (rel_l2 <= tolerance && row > VERIFY_ROW_FACTOR * tolerance) {
        snprintf(where, sizeof where, "row %zu: ", d->row.index);
        wrong = row;
        allowed = VERIFY_ROW_FACTOR * tolerance;
    } else if (rel_l2 <= tolerance && column > VERIFY_COLUMN_FACTOR * tolerance) {
        snprintf(where, sizeof where, "column %zu: ", d->column.index);
        wrong = column;
        allowed = VERIFY_COLUMN_FACTOR * tolerance;
    } else if (rel_l2 <= tolerance) {
        return;
    }
    char *worst = worst_text(d, expected);
    fail(check, reason,
         mem_format("%s differs from the reference output: %s%s error %s, allowed %.3g; "
                    "worst at %s",
                    pair->name, where, what, number_text(error, 3, wrong), allowed, worst));
    free(worst);
}

/* The reference, or the losses of its first epoch if that is what was found. */
static pair_t pair_of(const reference_t *reference, size_t i, const npy_t *found) {
    pair_t pair = {reference->names.items[i], reference->arrays[i], reference->norms[i],
                   reference->bounds != NULL ? reference->bounds[i].max_abs : INFINITY};
    npy_t *expected = &pair.expected;
    if (strcmp(pair.name, "losses") != 0 || found->n_dimensions != 1 || found->n >= expected->n ||
        (int64_t)found->n * reference->epochs < (int64_t)expected->n)
        return pair;
    for (pair.norm = 0, expected->n = 0; expected->n < found->n; expected->n++)
        pair.norm += expected->values[expected->n] * expected->values[expected->n];
    expected->shape[0] = found->n;
    return pair;
}

static void check_array(npy_file_t *file, const reference_t *reference, size_t i, check_t *check,
                        char **reason) {
    const pair_t pair = pair_of(reference, i, &file->array);
    const npy_t *expected = &pair.expected;
    found_t found = {.file = file};
    difference_t difference;
    error_t err = ERROR_INIT;
    if (!same_shape(&file->array, expected)) {
        char *actual = shape_text(&file->array), *right = shape_text(expected);
        not_compared(check, reason,
                     mem_format("%s has shape %s, expected %s", pair.name, actual, right));
        free(actual);
        free(right);
    } else if (compare(&found, expected, pair.norm, &difference, &err) != STATUS_OK) {
        not_compared(check, reason, mem_format("no output: %s", err.text));
    } else {
        note_difference(&difference, &pair, check, reason);
    }
}

static void check_file(const reference_t *reference, size_t i, const char *folder, check_t *check,
                       char **reason) {
    npy_file_t found;
    error_t err = ERROR_INIT;
    char *path = array_path(folder, reference->names.items[i]);
    if (!fs_exists(path)) {
        not_compared(check, reason, missing_text(reference, folder));
    } else if (npy_open(path, &found, &err) != STATUS_OK) {
        not_compared(check, reason, mem_format("no output: %s", err.text));
    } else {
        check_array(&found, reference, i, check, reason);
        npy_close(&found);
    }
    free(path);
}

/* The error as a multiple of what is allowed. */
static double share(const check_t *check) {
    return check->rel_l2 == 0 ? 0 : check->rel_l2 / check->tolerance;
}

static void add_check(check_t *sum, const check_t *array) {
    sum->ok = array->ok;
    keep_larger(&sum->max_abs, array->max_abs);
    keep_larger(&sum->row_rel_l2, array->row_rel_l2);
    keep_larger(&sum->column_rel_l2, array->column_rel_l2);
    if (share(array) <= share(sum))
        return;
    sum->rel_l2 = array->rel_l2;
    sum->tolerance = array->tolerance;
}

static check_t check_of(const reference_t *reference, size_t i, double tolerance) {
    const bounds_t *bounds = reference->bounds;
    return (check_t){.ok = true, .tolerance = bounds != NULL ? bounds[i].rel_l2 : tolerance};
}

void verify_outputs(const reference_t *reference, const char *folder, double tolerance,
                    check_t *check, char **reason) {
    *reason = NULL;
    *check = (check_t){.done = reference->names.n > 0, .ok = true, .tolerance = tolerance};
    for (size_t i = 0; i < reference->names.n && check->ok; i++) {
        check_t array = check_of(reference, i, tolerance);
        check_file(reference, i, folder, &array, reason);
        add_check(check, &array);
    }
}

void verify_mean(const reference_t *reference, size_t i, const npy_t *const of[2], double tolerance,
                 check_t *check, char **reason) {
    const pair_t pair = pair_of(reference, i, &reference->arrays[i]);
    found_t found = {.of = {of[0], of[1]}};
    difference_t difference;
    *reason = NULL;
    *check = check_of(reference, i, tolerance);
    check->done = true;
    if (compare(&found, &pair.expected, pair.norm, &difference, NULL) == STATUS_OK)
        note_difference(&difference, &pair, check, reason);
}

/* ---- twice ----------------------------------------------------------------------------------- */

/* Of arrays with equal shapes. */
static status_t compare_bits(const char *name, npy_file_t files[2], char **difference,
                             error_t *err) {
    double blocks[2][NPY_BLOCK];
    char text[2][32];
    for (size_t at = 0, n = 1; n > 0 && *difference == NULL; at += n) {
        for (size_t k = 0; k < 2; k++)
            TRY(npy_next(&files[k], blocks[k], &n, err));
        for (size_t i = 0; i < n && *difference == NULL; i++)
            if (memcmp(&blocks[0][i], &blocks[1][i], sizeof blocks[0][i]) != 0)
                *difference = mem_format("%s, element %zu: %s and %s", name, at + i,
                                         number_text(text[0], 9, blocks[0][i]),
                                         number_text(text[1], 9, blocks[1][i]));
    }
    return STATUS_OK;
}

status_t verify_same_bits(const text_list_t *names, const char *first, const char *second,
                          char **difference, error_t *err) {
    const char *const folders[2] = {first, second};
    status_t status = STATUS_OK;
    *difference = NULL;
    for (size_t i = 0; i < names->n && status == STATUS_OK && *difference == NULL; i++) {
        npy_file_t files[2] = {0};
        for (size_t k = 0; k < 2 && status == STATUS_OK; k++) {
            char *path = array_path(folders[k], names->items[i]);
            status = npy_open(path, &files[k], err);
            free(path);
        }
        if (status == STATUS_OK && !same_shape(&files[0].array, &files[1].array))
            *difference = mem_format("the shape of %s", names->items[i]);
        else if (status == STATUS_OK)
            status = compare_bits(names->items[i], files, difference, err);
        for (size_t k = 0; k < 2; k++)
            npy_close(&files[k]);
    }
    return status;
}
