/* Trainings of one network from several seeds: which cases, precision of the weights, losses. */
#ifndef BENCH_ANALYSIS_LEARNING_H
#define BENCH_ANALYSIS_LEARNING_H

#include "model/result.h"
#include "results/record.h"

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

/* Running mean over `window` points (odd), without the ends. Free it with curve_free(). */
curve_t curve_smooth(const curve_t *curve, size_t window);
/* 21 points, or a tenth of those of a short curve; odd. */
size_t curve_window(const curve_t *curve);
/* Calls of the driver's allocator in the first epoch, and the most in a later one; NaN: not recorded. */
void driver_calls_of(const case_result_t *result, double calls[2]);

/* Of one epoch: a kernel ran; none ran and the host was in the driver's allocator; neither. */
typedef struct time_split {
    double kernels_ns, driver_ns, gaps_ns, epoch_ns;
} time_split_t;

/* False if the case has none, or one that does not add up. */
bool time_split_of(const case_result_t *result, time_split_t *split);

/* Choice of the technique "allocator"; NULL if the contender lacks it. */
const char *allocator_of(const case_t *spec);

/* Parts of a training step that is timed by operation, by the phases' names: `forward_2` and
 * `forward` belong to the forward pass, `sgd` to the update. */

typedef enum step_part {
    PART_GATHER, /* collects the batch */
    PART_FORWARD,
    PART_LOSS,
    PART_BACKWARD,
    PART_UPDATE,
    PART_FUSED, /* all of them together; not in their sum */
    N_STEP_PARTS
} step_part_t;

const char *step_part_name(step_part_t part);
/* N_STEP_PARTS for any other phase: "h2d", "train_device". */
step_part_t step_part_of(const char *phase);

/* Sum of the medians of its phases; NaN if there are none, or no times. */
double step_part_ns(const case_result_t *result, step_part_t part);
/* Of all parts but PART_FUSED. */
double step_parts_sum_ns(const case_result_t *result);

/* Is the case timed by operation or fused? A call may have a phase "forward", too. */
bool has_backward_part(const case_result_t *result);

enum { MOST_SEEDS = 8 };

/* Trainings of one contender that differ only in the seed, ascending. */
typedef struct seeds {
    const case_result_t *cases[MOST_SEEDS]; /* borrowed from the run */
    size_t n;
} seeds_t;

/* Those of `like`'s contender and parameters that have a loss curve. */
seeds_t seeds_of(const record_t *run, const case_t *like);
int64_t seed_of(const case_t *spec);

/* Do the trainings differ only in the seed, the contender, and the parameter `other` (or NULL)? */
bool same_but_seed_and(const case_t *a, const case_t *b, const char *other);

/* Precision of weights kept in the case's precision: "f32" for tf32 and mixed, which apply
 * to products. */
const char *weights_dtype(const case_t *spec);

/* Precision of the trained weights: "f16"; "f32" with autocast, whose products are less precise.
 * NULL if not recorded. The caller frees it. */
char *weights_of(const case_result_t *result);

/* The case's loss curve, smoothed; the window is that of curve_window(). */
curve_t smooth_loss(const case_result_t *result);

#endif
