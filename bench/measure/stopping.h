/* The stopping rule for all contenders (docs/measuring.md). It ends a pass; how many passes a case takes is
 * stats_has_enough(). */
#ifndef BENCH_MEASURE_STOPPING_H
#define BENCH_MEASURE_STOPPING_H

#include "model/result.h"
#include "sweep/sweep.h"

/* Beyond the 16th round a pass gains little: what differs between processes remains. */
enum { STOPPING_MOST_ROUNDS = 16, STOPPING_PATIENCE = 4, STOPPING_PHASES = 2 };

typedef struct stopping {
    const measure_options_t *measure;         /* of one pass */
    double spent_s;                           /* in this contender's rounds */
    unsigned rounds, n_void;                  /* void ones are among them, and give no samples */
    double variance_between[STOPPING_PHASES]; /* of the passes before; NaN: not known */
} stopping_t;

void stopping_init(stopping_t *stopping, const measure_options_t *measure);

/* After a round that took `round_s`: STOP_NONE to continue, or why to stop. Looks at two
 * phases: host_to_host (or total), and kernel_graph (or the compute phase).
 *
 *   precise      the standard error of each median is within the precision for the phase's clock
 *   spread       or so small beside the spread of the passes before that it hardly matters
 *   most_rounds  STOPPING_MOST_ROUNDS, or min_rounds if that is more
 *   time_limit   */
stop_reason_t stopping_after_round(stopping_t *stopping, const case_result_t *result,
                                   double round_s);

/* The phases that it looks at; NULL: the result has none. */
const phase_t *stopping_phase(const case_result_t *result, size_t i);

/* How much longer its rounds take at least, and at most, if they go on as so far: those up to min_rounds, and up to
 * whatever ends them but precision. */
double stopping_least_s(const stopping_t *stopping);
double stopping_most_s(const stopping_t *stopping);

/* What remains of a case's limits for one of its passes. */
measure_options_t stopping_share(const measure_options_t *measure);

#endif
