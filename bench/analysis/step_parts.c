#include "analysis/step_parts.h"

#include <math.h>
#include <string.h>

static const char *const NAMES[] = {"gather", "forward", "loss", "backward", "update", "fused"};

const char *step_part_name(step_part_t part) {
    return NAMES[part];
}

/* "forward_0", "backward_weights"; but `forward_device` is the phase by another clock. */
static bool is_piece_of(const char *phase, const char *part) {
    const size_t length = strlen(part);
    return strncmp(phase, part, length) == 0 && (phase[length] == '\0' || phase[length] == '_') &&
           strcmp(phase + length, "_device") != 0;
}

step_part_t step_part_of(const char *phase) {
    if (is_piece_of(phase, "sgd"))
        return PART_UPDATE;
    step_part_t part = PART_GATHER;
    while (part < N_STEP_PARTS && !is_piece_of(phase, NAMES[part]))
        part++;
    return part;
}

/* Ignores NaN; the sum of nothing is NaN. */
static double add_ns(double sum_ns, double ns) {
    return isfinite(sum_ns) && isfinite(ns) ? sum_ns + ns : isfinite(ns) ? ns : sum_ns;
}

double step_part_ns(const case_result_t *result, step_part_t part) {
    double sum_ns = NAN;
    for (size_t i = 0; i < result->n_phases; i++)
        if (step_part_of(result->phases[i].name) == part)
            sum_ns = add_ns(sum_ns, result_median(result, result->phases[i].name));
    return sum_ns;
}

double step_parts_sum_ns(const case_result_t *result) {
    double sum_ns = NAN;
    for (step_part_t part = PART_GATHER; part < PART_FUSED; part++)
        sum_ns = add_ns(sum_ns, step_part_ns(result, part));
    return sum_ns;
}

bool has_step_parts(const case_result_t *result) {
    return isfinite(step_parts_sum_ns(result)) || isfinite(step_part_ns(result, PART_FUSED));
}

bool has_backward_part(const case_result_t *result) {
    return isfinite(step_part_ns(result, PART_BACKWARD)) ||
           isfinite(step_part_ns(result, PART_FUSED));
}
