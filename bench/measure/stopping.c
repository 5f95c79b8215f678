#include "measure/stopping.h"

#include <math.h>
#include <stdbool.h>

void stopping_init(stopping_t *stopping, const measure_options_t *measure) {
    *stopping = (stopping_t){.measure = measure};
}

measure_options_t stopping_share(const measure_options_t *measure) {
    measure_options_t share = *measure;
    share.time_limit_s /= measure->passes;
    share.min_samples = (measure->min_samples + measure->passes - 1) / measure->passes;
    return share;
}

static const phase_t *compute_phase(const case_result_t *result) {
    const phase_t *phase = result_phase(result, "kernel_graph");
    return phase != NULL ? phase : result_compute_phase(result);
}

static bool is_precise(const phase_t *phase, const measure_options_t *measure) {
    if (phase == NULL)
        return true;
    if (phase->n_rounds < measure->min_rounds || phase->n_samples < measure->min_samples)
        return false;
    const double most =
        phase->clock == CLOCK_DEVICE ? measure->device_precision_frac : measure->precision_frac;
    const stats_pass_t pass = phase_pass(phase, 0);
    /* A median of 0 (a clock with coarse steps) has no relative error. */
    return isfinite(pass.log_value) ? sqrt(pass.variance_log) <= most
                                    : phase->samples[0] == phase->samples[phase->n_samples - 1];
}

stop_reason_t stopping_after_round(stopping_t *stopping, const case_result_t *result,
                                   double round_s) {
    const measure_options_t *measure = stopping->measure;
    stopping->spent_s += round_s;
    stopping->rounds++;
    if (is_precise(result_whole_phase(result), measure) &&
        is_precise(compute_phase(result), measure))
        return STOP_PRECISE;
    const bool enough = stopping->rounds - stopping->n_void >= measure->min_rounds;
    /* A slow case may exceed the limit to reach min_rounds. */
    if (stopping->spent_s >= measure->time_limit_s * (enough ? 1 : STOPPING_PATIENCE))
        return STOP_TIME_LIMIT;
    return enough && stopping->rounds >= STOPPING_MOST_ROUNDS ? STOP_MOST_ROUNDS : STOP_NONE;
}

static double round_s(const stopping_t *stopping) {
    return stopping->rounds > 0 ? stopping->spent_s / stopping->rounds : 0;
}

double stopping_least_s(const stopping_t *stopping) {
    const measure_options_t *measure = stopping->measure;
    const double needed = (double)measure->min_rounds + stopping->n_void - stopping->rounds;
    const double patient_s = STOPPING_PATIENCE * measure->time_limit_s - stopping->spent_s;
    return fmax(0, fmin(needed * round_s(stopping), patient_s));
}

double stopping_most_s(const stopping_t *stopping) {
    const double limit_s = stopping->measure->time_limit_s - stopping->spent_s;
    const double rounds_s = ((double)STOPPING_MOST_ROUNDS - stopping->rounds) * round_s(stopping);
    return fmax(stopping_least_s(stopping),
                stopping->rounds > 0 ? fmin(limit_s, rounds_s) : limit_s);
}
