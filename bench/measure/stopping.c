#include "measure/stopping.h"

#include <math.h>
#include <stdbool.h>

enum { FIRST_LOOK = 8 };

/* Twice as many independent samples shrink the interval to 1/√2 = 0.71. If more than this share
 * remains, samples are correlated (clock steps, a neighbour on the bus), and more will not help. */
static const double NO_SHRINK_FRAC = 0.95;

void stopping_init(stopping_t *stopping, const measure_options_t *measure) {
    *stopping = (stopping_t){.measure = measure, .look_at = FIRST_LOOK, .earlier_frac = INFINITY};
}

double stopping_half_width_frac(const phase_t *phase) {
    if (phase->n_samples < 6)
        return INFINITY;
    summary_t summary = summary_of(phase->samples, phase->n_samples);
    if (!(summary.median > 0))
        return summary.ci95[1] > summary.ci95[0] ? INFINITY : 0;
    return (summary.ci95[1] - summary.ci95[0]) / 2 / summary.median;
}

static const phase_t *whole_phase(const case_result_t *result) {
    const phase_t *phase = result_phase(result, "host_to_host");
    return phase != NULL ? phase : result_phase(result, "total");
}

/* The larger half width of the two headline phases; `*fewest` is the smaller sample count. */
static double widest(const case_result_t *result, size_t *fewest) {
    const phase_t *phases[2] = {whole_phase(result), result_phase(result, "kernel_graph")};
    if (phases[1] == NULL)
        phases[1] = result_compute_phase(result);
    double worst = 0;
    *fewest = SIZE_MAX;
    for (int i = 0; i < 2; i++) {
        if (phases[i] == NULL)
            continue;
        double frac = stopping_half_width_frac(phases[i]);
        if (frac > worst)
            worst = frac;
        if (phases[i]->n_samples < *fewest)
            *fewest = phases[i]->n_samples;
    }
    return worst;
}

stop_reason_t stopping_after_round(stopping_t *stopping, const case_result_t *result,
                                   double round_s) {
    const measure_options_t *measure = stopping->measure;
    stopping->spent_s += round_s;
    stopping->rounds++;
    size_t n;
    double frac = widest(result, &n);
    bool enough = stopping->rounds >= measure->min_rounds && n >= measure->min_samples;
    if (enough && frac <= measure->precision_frac)
        return STOP_PRECISE;
    if (stopping->rounds == stopping->look_at) {
        if (enough && frac > NO_SHRINK_FRAC * stopping->earlier_frac)
            return STOP_NOISE_FLOOR;
        stopping->earlier_frac = frac;
        stopping->look_at *= 2;
    }
    /* A slow case may exceed the limit to reach min_rounds. */
    double limit_s =
        measure->time_limit_s * (stopping->rounds < measure->min_rounds ? STOPPING_PATIENCE : 1);
    if (stopping->spent_s >= limit_s || stopping->rounds >= STOPPING_MOST_ROUNDS)
        return STOP_TIME_LIMIT;
    return STOP_NONE;
}
