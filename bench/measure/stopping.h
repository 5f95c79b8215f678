/* When a contender has been sampled enough: one rule for all of them (docs/measuring.md). */
#ifndef BENCH_MEASURE_STOPPING_H
#define BENCH_MEASURE_STOPPING_H

#include "model/result.h"
#include "sweep/sweep.h"

enum { STOPPING_MOST_ROUNDS = 64, STOPPING_PATIENCE = 4 };

typedef struct stopping {
    const measure_options_t *measure;
    double spent_s; /* in this contender's rounds */
    unsigned rounds;
    unsigned look_at;    /* the next round at which the interval is compared with an earlier one */
    double earlier_frac; /* the interval's half width then, as a fraction of the median */
} stopping_t;

void stopping_init(stopping_t *stopping, const measure_options_t *measure);

/* After a round that took `round_s`: STOP_NONE to go on, or why to stop. Looks at the phases that
 * the headlines come from: host_to_host (or total) and the compute phase.
 *
 *   precise      the 95 % interval of each median is within ± precision_frac of it
 *   noise_floor  the interval no longer shrinks as rounds double
 *   time_limit   the time is spent, or STOPPING_MOST_ROUNDS were taken */
stop_reason_t stopping_after_round(stopping_t *stopping, const case_result_t *result,
                                   double round_s);

/* Half width of the phase's median interval over the median, from its samples so far. Infinity
 * while there are too few. */
double stopping_half_width_frac(const phase_t *phase);

#endif
