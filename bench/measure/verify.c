#include "measure/verify.h"

#include "base/memory.h"
#include "io/fs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *array_path(const char *folder, const char *name) {
    return mem_format("%s/%s.npy", folder, name);
}

status_t reference_load(const char *folder, const text_list_t *names, reference_t *reference,
                        error_t *err) {
    *reference = (reference_t){.arrays = mem_zeroed(names->n, sizeof(npy_t))};
    for (size_t i = 0; i < names->n; i++) {
        char *path = array_path(folder, names->items[i]);
        status_t status = npy_read(path, &reference->arrays[i], err);
        free(path);
        if (status != STATUS_OK) {
            reference_free(reference);
            return status;
        }
        text_list_add(&reference->names, names->items[i]);
    }
    return STATUS_OK;
}

void reference_free(reference_t *reference) {
    for (size_t i = 0; i < reference->names.n; i++)
        npy_free(&reference->arrays[i]);
    free(reference->arrays);
    text_list_free(&reference->names);
    *reference = (reference_t){0};
}

static bool same_shape(const npy_t *a, const npy_t *b) {
    return a->n_dimensions == b->n_dimensions &&
           memcmp(a->shape, b->shape, a->n_dimensions * sizeof *a->shape) == 0;
}

typedef struct difference {
    double squares, norm, max_abs; /* NaN anywhere makes `squares` and `max_abs` NaN */
    size_t worst;                  /* element of max_abs */
    double found;                  /* there */
} difference_t;

static void add_block(difference_t *sum, const double *found, const double *expected, size_t first,
                      size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double d = found[i] - expected[i];
        sum->squares += d * d;
        sum->norm += expected[i] * expected[i];
        if (!(fabs(d) <= sum->max_abs) && !isnan(sum->max_abs)) {
            sum->max_abs = fabs(d);
            sum->worst = first + i;
            sum->found = found[i];
        }
    }
}

static status_t compare(npy_file_t *found, const npy_t *expected, difference_t *sum, error_t *err) {
    double block[NPY_BLOCK];
    *sum = (difference_t){0};
    for (size_t at = 0, n; at < expected->n; at += n) {
        TRY(npy_next(found, block, &n, err));
        add_block(sum, block, expected->values + at, at, n);
    }
    return STATUS_OK;
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

static void note_difference(const difference_t *sum, const npy_t *expected, const char *name,
                            check_t *check, char **reason) {
    const double rel_l2 = sqrt(sum->norm > 0 ? sum->squares / sum->norm : sum->squares);
    if (!(rel_l2 <= check->rel_l2))
        check->rel_l2 = rel_l2;
    if (!(sum->max_abs <= check->max_abs))
        check->max_abs = sum->max_abs;
    if (rel_l2 <= check->tolerance)
        return;
    char error[32], actual[32], right[32];
    fail(check, reason,
         mem_format("%s differs from the reference output: relative L2 error %s, allowed %.3g; "
                    "worst at element %zu: %s, expected %s",
                    name, number_text(error, 3, rel_l2), check->tolerance, sum->worst,
                    number_text(actual, 9, sum->found),
                    number_text(right, 9, expected->values[sum->worst])));
}

static void check_array(npy_file_t *found, const npy_t *expected, const char *name, check_t *check,
                        char **reason) {
    difference_t sum;
    error_t err = ERROR_INIT;
    if (!same_shape(&found->array, expected)) {
        char *actual = shape_text(&found->array), *right = shape_text(expected);
        fail(check, reason, mem_format("%s has shape %s, expected %s", name, actual, right));
        free(actual);
        free(right);
    } else if (compare(found, expected, &sum, &err) != STATUS_OK) {
        check->rel_l2 = check->max_abs = NAN;
        fail(check, reason, mem_format("no output: %s", err.text));
    } else {
        note_difference(&sum, expected, name, check, reason);
    }
}

void verify_outputs(const reference_t *reference, const char *folder, double tolerance,
                    check_t *check, char **reason) {
    *reason = NULL;
    *check = (check_t){.done = reference->names.n > 0, .ok = true, .tolerance = tolerance};
    for (size_t i = 0; i < reference->names.n && check->ok; i++) {
        const char *name = reference->names.items[i];
        npy_file_t found;
        error_t err = ERROR_INIT;
        char *path = array_path(folder, name);
        if (npy_open(path, &found, &err) == STATUS_OK) {
            check_array(&found, &reference->arrays[i], name, check, reason);
            npy_close(&found);
        } else {
            check->rel_l2 = check->max_abs = NAN;
            fail(check, reason, mem_format("no output: %s", err.text));
        }
        free(path);
    }
}
