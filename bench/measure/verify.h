/* Verify a contender's output: compare its arrays with the float64 reference by relative L2 error, of
 * the whole array and of each row and column. */
#ifndef BENCH_MEASURE_VERIFY_H
#define BENCH_MEASURE_VERIFY_H

#include "base/text.h"
#include "io/npy.h"
#include "model/result.h"
#include "workloads/common/workload.h" /* bounds_t */

typedef struct reference {
    text_list_t names; /* of the arrays; empty: nothing to compare */
    npy_t *arrays;
    double *norms;  /* squared L2 norm of each, or of what it was summed from, the larger */
    npy_t *initial; /* what arrays in place held before the run; no values: of others */
    bounds_t *
        bounds; /* of each array; NULL: the tolerance of all. Of a change `arrays` has the changes */
    bool verified; /* the oracle's verify() decides: only shapes, and no NaN, are expected here */
} reference_t;

/* Load NAME.npy of each name from `folder`, and where the oracle wrote them NAME.initial.npy, and NAME.scale.npy: a
 * number, the root mean square size of the terms whose sums the elements are. Sums that cancel are smaller
 * than their terms, and so than the rounding errors of any order of summing allow. */
status_t reference_load(const char *folder, const text_list_t *names, reference_t *reference,
                        error_t *err);
void reference_free(reference_t *reference);

/* Give it the bounds of its arrays. Those that are bounded by their change become changes. */
void reference_bound(reference_t *reference, bounds_t *bounds);

/* A row's or column's error may be this many times the tolerance of the array. */
extern const double VERIFY_ROW_FACTOR, VERIFY_COLUMN_FACTOR;

/* Compare every array of the reference with the one of the same name in `folder`, and store the
 * largest relative L2 error (with several bounds, that of the array nearest to its own), ‖out − ref‖ / ‖ref‖, of an array, a row and a column, and the largest
 * absolute error in `check`. A row's error is relative to its own norm or that of an average row,
 * the larger. If an array is missing, has another shape or a NaN, or exceeds its bounds,
 * check->ok is false and `*reason` (owned by the caller) says why. */
void verify_outputs(const reference_t *reference, const char *folder, double tolerance,
                    check_t *check, char **reason);

/* The same for array `i` alone and for what is computed here: the mean of two arrays of its shape, element by element;
 * zeros without them. The caller frees `*reason`. */
void verify_mean(const reference_t *reference, size_t i, const npy_t *const of[2], double tolerance,
                 check_t *check, char **reason);

/* Do the arrays of these names have the same bits in both folders? `*difference` (owned by the caller) says where not, or is
 * NULL. */
status_t verify_same_bits(const text_list_t *names, const char *first, const char *second,
                          char **difference, error_t *err);

#endif
