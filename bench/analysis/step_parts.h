/* Parts of a training step that is timed by operation, by the phases' names: `forward_2` and
 * `forward` belong to the forward pass, `sgd` to the update. */
#ifndef BENCH_ANALYSIS_STEP_PARTS_H
#define BENCH_ANALYSIS_STEP_PARTS_H

#include "model/result.h"

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

/* Is the case, which must be a training, timed by operation or fused? */
bool has_step_parts(const case_result_t *result);

/* Likewise of any case: a call may have a phase "forward", too. */
bool has_backward_part(const case_result_t *result);

#endif
