/* The stopping rule for all contenders (docs/measuring.md). */
#ifndef BENCH_MEASURE_STOPPING_H
#define BENCH_MEASURE_STOPPING_H

#include "model/result.h"
#include "sweep/sweep.h"

enum { STOPPING_MOST_ROUNDS = 64, STOPPING_PATIENCE = 4 };

typedef struct stopping {
    const measure_options_t *measure;
    double spent_s; /* in this contender's rounds */
    unsigned rounds;
    unsigned look_at;    /* the round of the next comparison with the earlier interval */
    double earlier_frac; /* its half width, as a fraction of the median */
} stopping_t;

void stopping_init(stopping_t *stopping, const measure_options_t *measure);

/* After a round that took `round_s`: STOP_NONE to continue, or why to stop. Looks at two
 * phases: host_to_host (or total), and kernel_graph (or the compute phase).
 *
 *   precise      the 95 % interval of each median is within ± precision_frac of it
 *   noise_floor  the interval no longer shrinks as rounds double
 *   time_limit   the time limit or STOPPING_MOST_ROUNDS is reached */
stop_reason_t stopping_after_round(stopping_t *stopping, const case_result_t *result,
                                   double round_s);

/* Half width of the interval of the phase's median, divided by the median. Infinity if it has too
 * few samples. */
double stopping_half_width_frac(const phase_t *phase);

#endif
