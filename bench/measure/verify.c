#include "measure/verify.h"

#include "base/memory.h"
#include "io/fs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static status_t load_array(const char *folder, const char *name, npy_t *array, error_t *err) {
    char *path = mem_format("%s/%s.npy", folder, name);
    status_t status = npy_read(path, array, err);
    free(path);
    return status;
}

status_t reference_load(const char *folder, const text_list_t *names, reference_t *reference,
                        error_t *err) {
    *reference = (reference_t){.arrays = mem_zeroed(names->n, sizeof(npy_t))};
    for (size_t i = 0; i < names->n; i++) {
        if (load_array(folder, names->items[i], &reference->arrays[i], err) != STATUS_OK) {
            reference_free(reference);
            return err->status;
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

/* NaN anywhere makes both errors NaN. */
static void compare(const npy_t *found, const npy_t *expected, double *rel_l2, double *max_abs,
                    size_t *worst) {
    double difference = 0, norm = 0;
    *max_abs = 0;
    *worst = 0;
    for (size_t i = 0; i < expected->n; i++) {
        double d = found->values[i] - expected->values[i];
        difference += d * d;
        norm += expected->values[i] * expected->values[i];
        if (!(fabs(d) <= *max_abs) && !isnan(*max_abs)) {
            *max_abs = fabs(d);
            *worst = i;
        }
    }
    *rel_l2 = norm > 0 ? sqrt(difference / norm) : sqrt(difference);
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

static void check_array(const npy_t *found, const npy_t *expected, const char *name, check_t *check,
                        char **reason) {
    if (!same_shape(found, expected)) {
        check->ok = false;
        char *actual = shape_text(found), *right = shape_text(expected);
        *reason = mem_format("%s has shape %s, expected %s", name, actual, right);
        free(actual);
        free(right);
        return;
    }
    double rel_l2, max_abs;
    size_t worst;
    compare(found, expected, &rel_l2, &max_abs, &worst);
    if (!(rel_l2 <= check->rel_l2))
        check->rel_l2 = rel_l2;
    if (!(max_abs <= check->max_abs))
        check->max_abs = max_abs;
    if (rel_l2 <= check->tolerance)
        return;
    check->ok = false;
    char error[32], actual[32], right[32];
    *reason =
        mem_format("%s differs from the reference output: relative L2 error %s, allowed %.3g; "
                   "worst at element %zu: %s, expected %s",
                   name, number_text(error, 3, rel_l2), check->tolerance, worst,
                   number_text(actual, 9, found->values[worst]),
                   number_text(right, 9, expected->values[worst]));
}

void verify_outputs(const reference_t *reference, const char *folder, double tolerance,
                    check_t *check, char **reason) {
    *reason = NULL;
    *check = (check_t){.done = reference->names.n > 0, .ok = true, .tolerance = tolerance};
    for (size_t i = 0; i < reference->names.n && check->ok; i++) {
        const char *name = reference->names.items[i];
        npy_t found;
        error_t err = ERROR_INIT;
        if (load_array(folder, name, &found, &err) != STATUS_OK) {
            check->ok = false;
            check->rel_l2 = check->max_abs = NAN;
            *reason = mem_format("no output: %s", err.text);
            return;
        }
        check_array(&found, &reference->arrays[i], name, check, reason);
        npy_free(&found);
    }
}
