/* What trainings learned, and what their time went into: losses, precision of the weights, parts of a step. */
#ifndef BENCH_ANALYSIS_LEARNING_H
#define BENCH_ANALYSIS_LEARNING_H

#include "model/result.h"

/* A value over a training, from a case's results: {"loss": [[epoch, value], …]}. */

typedef struct curve {
    double *steps, *values; /* ascending; steps or epochs, by workload */
    size_t n;
} curve_t;

/* Empty if the case has no times or no valid curve `name`. Free it with curve_free(). */
curve_t curve_of(const case_result_t *result, const char *name);
void curve_free(curve_t *curve);

/* The value at exactly this step; NaN if none. */
double curve_at(const curve_t *curve, double step);
/* |value − reference| / |reference| at point i; NaN if the reference has no value there, or 0. */
double curve_difference(const curve_t *curve, size_t i, const curve_t *reference);

/* Calls of the driver's allocator in the first epoch, and the most in a later one; NaN: not recorded. */
void driver_calls_of(const case_result_t *result, double calls[2]);

/* Of one epoch: a kernel ran; none ran and the host was in the driver's allocator; neither. */
typedef struct time_split {
    double kernels_ns, driver_ns, gaps_ns, epoch_ns;
} time_split_t;

/* False if the case has none, or one that does not add up. */
bool time_split_of(const case_result_t *result, time_split_t *split);

/* Parts of a call or a step, each timed alone: a phase "part_NAME" (PART_PHASE) is the part NAME. Trainings that are timed
 * by operation have phases without the prefix: `forward_2` and `forward` belong to the part forward, `sgd` to update;
 * `fused` is all of them together. */

enum { MOST_PARTS = 12 };

/* Those that cases have, in order. Start with zeros. */
typedef struct parts {
    const char *names[MOST_PARTS]; /* borrowed; the last may be "others" */
    size_t n;
} parts_t;

/* Add those of a case. */
void parts_add(parts_t *parts, const case_result_t *result);
/* Sum of the medians of its phases; NaN if there are none, or no times. */
double part_ns(const parts_t *parts, size_t part, const case_result_t *result);
/* Of all parts but `fused`. */
double parts_sum_ns(const case_result_t *result);
/* Is it `fused`, which is not in the sum? */
bool part_is_whole(const parts_t *parts, size_t part, const case_result_t *result);
/* The phase that has its name; NULL if it has other phases, or none. */
const phase_t *part_phase(const parts_t *parts, size_t part, const case_result_t *result);

/* Has it a time of any? */
bool has_parts(const case_result_t *result);
/* Is it a training that is timed by operation, or fused? A call may have a phase "forward", too. */
bool is_by_operation(const case_result_t *result);

/* Do the trainings differ only in the seed, the contender, and the parameter `other` (or NULL)? */
bool same_but_seed_and(const case_t *a, const case_t *b, const char *other);

/* Precision of weights kept in the case's precision: "f32" for tf32 and mixed, which apply
 * to products. */
const char *weights_dtype(const case_t *spec);

/* Precision of the trained weights: "f16"; "f32" with autocast, whose products are less precise.
 * NULL if not recorded. The caller frees it. */
char *weights_of(const case_result_t *result);

#endif
