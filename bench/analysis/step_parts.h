/* What a phase of a training that is timed piece by piece belongs to, by its name: `forward_2` and
 * `forward` are parts of the forward pass, `sgd` is an update. */
#ifndef BENCH_ANALYSIS_STEP_PARTS_H
#define BENCH_ANALYSIS_STEP_PARTS_H

#include "model/result.h"

typedef enum step_part {
    PART_GATHER, /* puts the batch together */
    PART_FORWARD,
    PART_LOSS,
    PART_BACKWARD,
    PART_UPDATE,
    PART_FUSED, /* all of them in one go: no part of their sum */
    N_STEP_PARTS
} step_part_t;

const char *step_part_name(step_part_t part);
/* N_STEP_PARTS for a phase that is none: "h2d", "train_device". */
step_part_t step_part_of(const char *phase);

/* Sum of the medians of the phases that belong to it; NaN where there are none, or no times. */
double step_part_ns(const case_result_t *result, step_part_t part);
/* Of all parts but PART_FUSED. */
double step_parts_sum_ns(const case_result_t *result);

/* Is anything of the case timed piece by piece, or fused? Only for cases that train. */
bool has_step_parts(const case_result_t *result);

#endif
