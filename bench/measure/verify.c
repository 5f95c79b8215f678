#include "measure/verify.h"

#include "base/memory.h"
#include "base/parallel.h"
#include "io/fs.h"
#include "stats/difference.h"

#include <math.h>
#include <pthread.h>
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
    AUTO_FREE char *path = mem_format("%s/%s.scale.npy", folder, name);
    AUTO(npy_free) npy_t array = {0};
    TRY(fs_exists(path) ? npy_read(path, &array, err) : STATUS_OK);
    if (array.n > 0)
        *scale = array.values[0];
    return STATUS_OK;
}

/* NAME.initial.npy, without values if there is no such file. */
static status_t read_initial(const char *folder, const char *name, npy_t *array, error_t *err) {
    AUTO_FREE char *path = mem_format("%s/%s.initial.npy", folder, name);
    *array = (npy_t){0};
    return fs_exists(path) ? npy_read(path, array, err) : STATUS_OK;
}

static status_t load_array(const char *folder, const char *name, npy_t *array, double *norm,
                           error_t *err) {
    double scale;
    TRY(read_scale(folder, name, &scale, err));
    AUTO_FREE char *path = array_path(folder, name);
    TRY(npy_read(path, array, err));
    *norm = fmax(difference_norm(array), scale * scale * (double)array->n);
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

void reference_bound(reference_t *reference, bounds_t *bounds) {
    reference->bounds = bounds;
    for (size_t i = 0; i < reference->names.n; i++) {
        const npy_t *before = &reference->initial[i];
        bounds[i].of_change = bounds[i].of_change && before->values != NULL;
        if (!bounds[i].of_change)
            continue;
        for (size_t k = 0; k < before->n; k++)
            reference->arrays[i].values[k] -= before->values[k];
        reference->norms[i] = difference_norm(&reference->arrays[i]);
    }
}

static bool same_shape(const npy_t *a, const npy_t *b) {
    return a->n_dimensions == b->n_dimensions &&
           memcmp(a->shape, b->shape, a->n_dimensions * sizeof *a->shape) == 0;
}

/* As NumPy writes it: "(6,)", "(3, 2)". The caller frees it. */
static char *shape_text(const npy_t *array) {
    AUTO(text_list_free) text_list_t sizes = {0};
    for (unsigned i = 0; i < array->n_dimensions; i++)
        text_list_add_format(&sizes, "%zu", array->shape[i]);
    AUTO_FREE char *joined = text_list_join(&sizes, ", ");
    return mem_format(array->n_dimensions == 1 ? "(%s,)" : "(%s)", joined);
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
    AUTO(text_list_free) text_list_t files = {0}, names = {0};
    fs_list(folder, SUFFIX, &files, NULL);
    for (size_t i = 0; i < files.n && i < SHOWN; i++)
        text_list_add_format(&names, "%.*s", (int)(strlen(files.items[i]) - strlen(SUFFIX)),
                             files.items[i]);
    if (files.n > SHOWN)
        text_list_add(&names, "…");
    AUTO_FREE char *found = text_list_join(&names, ", "),
                   *expected = text_list_join(&reference->names, ", ");
    return mem_format("the worker wrote %s, expected %s", files.n > 0 ? found : "nothing",
                      expected);
}

/* "element 5: 0, expected 2.5"; with rows and columns "element 5 (row 2, column 1): …". */
static char *worst_text(const difference_t *difference, const npy_t *expected) {
    const size_t n_columns = difference_columns(expected), at = difference->worst;
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
    double norm;        /* of what is expected */
    double max_abs;     /* allowed */
    bool is_change;     /* of an array in place */
    const npy_t *whole; /* of which only the first values may be expected */
    double whole_norm;
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
    AUTO_FREE char *worst = worst_text(d, expected);
    fail(check, reason,
         mem_format("%s%s differs from the reference output: %s%s error %s, allowed %.3g; "
                    "worst at %s",
                    pair->is_change ? "the change of " : "", pair->name, where, what,
                    number_text(error, 3, wrong), allowed, worst));
}

/* Its first values, or rows. */
static void shorten(pair_t *pair, size_t first) {
    npy_t *expected = &pair->expected;
    const size_t n = first * (expected->n / expected->shape[0]);
    for (pair->norm = 0, expected->n = 0; expected->n < n; expected->n++)
        pair->norm += expected->values[expected->n] * expected->values[expected->n];
    expected->shape[0] = first;
}

/* The reference; of a curve its first values. */
static pair_t pair_of(const reference_t *reference, size_t i) {
    const bounds_t *bounds = reference->bounds;
    pair_t pair = {reference->names.items[i],
                   reference->arrays[i],
                   reference->norms[i],
                   bounds != NULL ? bounds[i].max_abs : INFINITY,
                   bounds != NULL && bounds[i].of_change,
                   &reference->arrays[i],
                   reference->norms[i]};
    const npy_t *expected = &pair.expected;
    if (bounds != NULL && bounds[i].first > 0 && bounds[i].first < expected->shape[0])
        shorten(&pair, bounds[i].first);
    return pair;
}

/* Where rounding errors grow, later values of a curve are only known to be near: none is made up. */
static const double MOST_OF_CURVE = 0.25;

/* `first` is the difference of the first values. */
static void check_rest(const found_t *found, const pair_t *pair, const difference_t *first,
                       check_t *check, char **reason) {
    difference_t all;
    error_t err = ERROR_INIT;
    if (difference_find(found, pair->whole, pair->whole_norm, &all, &err) != STATUS_OK)
        return not_compared(check, reason, mem_format("no output: %s", err.text));
    const double norm = pair->whole_norm - pair->norm, squares = all.squares - first->squares;
    const double rel_l2 = sqrt(norm > 0 ? squares / norm : squares);
    char error[32];
    if (!(rel_l2 <= MOST_OF_CURVE))
        fail(
            check, reason,
            mem_format("%s differs from the reference output beyond its first %zu values: relative "
                       "L2 error %s, allowed %.3g",
                       pair->name, pair->expected.shape[0], number_text(error, 3, rel_l2),
                       MOST_OF_CURVE));
}

static void check_array(npy_file_t *file, const reference_t *reference, size_t i, check_t *check,
                        char **reason) {
    const pair_t pair = pair_of(reference, i);
    const npy_t *expected = &pair.expected;
    const found_t found = {.file = file, .before = pair.is_change ? &reference->initial[i] : NULL};
    difference_t difference;
    error_t err = ERROR_INIT;
    if (!same_shape(&file->array, pair.whole)) {
        AUTO_FREE char *actual = shape_text(&file->array), *right = shape_text(pair.whole);
        not_compared(check, reason,
                     mem_format("%s has shape %s, expected %s", pair.name, actual, right));
    } else if (difference_find(&found, expected, pair.norm, &difference, &err) != STATUS_OK) {
        not_compared(check, reason, mem_format("no output: %s", err.text));
    } else {
        note_difference(&difference, &pair, check, reason);
        if (check->ok && expected->n < pair.whole->n)
            check_rest(&found, &pair, &difference, check, reason);
    }
}

static void check_file(const reference_t *reference, size_t i, const char *folder, check_t *check,
                       char **reason) {
    npy_file_t found;
    error_t err = ERROR_INIT;
    AUTO_FREE char *path = array_path(folder, reference->names.items[i]);
    if (!fs_exists(path)) {
        not_compared(check, reason, missing_text(reference, folder));
    } else if (npy_open(path, &found, &err) != STATUS_OK) {
        not_compared(check, reason, mem_format("no output: %s", err.text));
    } else {
        check_array(&found, reference, i, check, reason);
        npy_close(&found);
    }
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
    const pair_t pair = pair_of(reference, i);
    found_t found = {.of = {of[0], of[1]}};
    difference_t difference;
    *reason = NULL;
    *check = check_of(reference, i, tolerance);
    check->done = true;
    if (difference_find(&found, &pair.expected, pair.norm, &difference, NULL) == STATUS_OK)
        note_difference(&difference, &pair, check, reason);
}

/* ---- twice ----------------------------------------------------------------------------------- */

/* Two arrays of one shape, part by part. */
typedef struct both {
    const char *name;
    npy_file_t files[2];
    pthread_mutex_t mutex; /* of what follows */
    size_t at;             /* the first element that differs; n: none */
    double found[2];       /* there */
} both_t;

enum { BITS_PART = 64 * NPY_BLOCK };

static void note_element(both_t *both, size_t at, const double blocks[2][NPY_BLOCK], size_t i) {
    pthread_mutex_lock(&both->mutex);
    if (at + i < both->at) {
        both->at = at + i;
        both->found[0] = blocks[0][i];
        both->found[1] = blocks[1][i];
    }
    pthread_mutex_unlock(&both->mutex);
}

static status_t compare_block(both_t *both, size_t at, size_t n, bool *equal, error_t *err) {
    double blocks[2][NPY_BLOCK];
    *equal = false;
    if (strcmp(both->files[0].array.type, both->files[1].array.type) == 0) {
        for (size_t k = 0; k < 2; k++)
            TRY(npy_bytes(&both->files[k], at, n, blocks[k], err));
        const size_t bytes = n * npy_element_bytes(&both->files[0].array);
        *equal = memcmp(blocks[0], blocks[1], bytes) == 0;
    }
    if (*equal)
        return STATUS_OK;
    for (size_t k = 0; k < 2; k++)
        TRY(npy_values(&both->files[k], at, n, blocks[k], err));
    size_t i = 0;
    while (i < n && memcmp(&blocks[0][i], &blocks[1][i], sizeof blocks[0][i]) == 0)
        i++;
    *equal = i == n; /* other bytes of the same value, as of a bool */
    if (!*equal)
        note_element(both, at, blocks, i);
    return STATUS_OK;
}

static status_t compare_bits(void *context, size_t part, error_t *err) {
    both_t *both = context;
    const size_t all = both->files[0].array.n, first = part * BITS_PART;
    const size_t end = all - first < BITS_PART ? all : first + BITS_PART;
    bool equal = true;
    for (size_t at = first, n; at < end && equal; at += n) {
        n = end - at < NPY_BLOCK ? end - at : NPY_BLOCK;
        TRY(compare_block(both, at, n, &equal, err));
    }
    return STATUS_OK;
}

static status_t compare_both(both_t *both, char **difference, error_t *err) {
    char text[2][32];
    const size_t n = both->files[0].array.n;
    if (!same_shape(&both->files[0].array, &both->files[1].array)) {
        *difference = mem_format("the shape of %s", both->name);
        return STATUS_OK;
    }
    both->at = n;
    TRY(parallel_parts((n + BITS_PART - 1) / BITS_PART, compare_bits, both, err));
    if (both->at < n)
        *difference = mem_format("%s, element %zu: %s and %s", both->name, both->at,
                                 number_text(text[0], 9, both->found[0]),
                                 number_text(text[1], 9, both->found[1]));
    return STATUS_OK;
}

status_t verify_same_bits(const text_list_t *names, const char *first, const char *second,
                          char **difference, error_t *err) {
    const char *const folders[2] = {first, second};
    status_t status = STATUS_OK;
    *difference = NULL;
    for (size_t i = 0; i < names->n && status == STATUS_OK && *difference == NULL; i++) {
        both_t both = {.name = names->items[i], .mutex = PTHREAD_MUTEX_INITIALIZER};
        for (size_t k = 0; k < 2 && status == STATUS_OK; k++) {
            AUTO_FREE char *path = array_path(folders[k], names->items[i]);
            status = npy_open(path, &both.files[k], err);
        }
        if (status == STATUS_OK)
            status = compare_both(&both, difference, err);
        for (size_t k = 0; k < 2; k++)
            npy_close(&both.files[k]);
    }
    return status;
}
