#include "measure/stopping.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

void stopping_init(stopping_t *stopping, const measure_options_t *measure) {
    *stopping = (stopping_t){.measure = measure, .variance_between = {NAN, NAN}};
}

measure_options_t stopping_share(const measure_options_t *measure) {
    measure_options_t share = *measure;
    const unsigned n = measure->least_passes; /* what a case that needs no more takes */
    share.time_limit_s /= n;
    share.min_samples = (measure->min_samples + n - 1) / n;
    return share;
}

const phase_t *stopping_phase(const case_result_t *result, size_t i) {
    const phase_t *graph = result_phase(result, "kernel_graph");
    if (i == 0)
        return result_whole_phase(result);
    return graph != NULL ? graph : result_compute_phase(result);
}

/* STOP_PRECISE, STOP_SPREAD, or STOP_NONE: it needs more rounds. */
static stop_reason_t decide(const phase_t *phase, double variance_between,
                            const measure_options_t *measure) {
    if (phase == NULL)
        return STOP_PRECISE;
    if (phase->n_rounds < measure->min_rounds || phase->n_samples < measure->min_samples)
        return STOP_NONE;
    const double most =
        phase->clock == CLOCK_DEVICE ? measure->device_precision_frac : measure->precision_frac;
    const stats_pass_t pass = phase_pass(phase, 0);
    /* A median of 0 (a clock with coarse steps) has no relative error. */
    const bool is_precise = isfinite(pass.log_value)
                                ? sqrt(pass.variance_log) <= most
                                : phase->samples[0] == phase->samples[phase->n_samples - 1];
    if (is_precise)
        return STOP_PRECISE;
    return stats_spread_dominates(&pass, variance_between) ? STOP_SPREAD : STOP_NONE;
}

stop_reason_t stopping_after_round(stopping_t *stopping, const case_result_t *result,
                                   double round_s) {
    const measure_options_t *measure = stopping->measure;
    stopping->spent_s += round_s;
    stopping->rounds++;
    stop_reason_t found[STOPPING_PHASES];
    for (size_t i = 0; i < STOPPING_PHASES; i++)
        found[i] = decide(stopping_phase(result, i), stopping->variance_between[i], measure);
    if (found[0] != STOP_NONE && found[1] != STOP_NONE)
        return found[0] > found[1] ? found[0] : found[1];
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
