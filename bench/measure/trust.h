/* How far a contender's times are vouched for.
 *
 * A worker that is a script times itself. The supervisor asks it for N and for 2N runs without
 * clocks (`audit` in docs/worker-protocol.md); by its own clock the difference is N runs, without
 * what a request costs. The claimed median must agree within TRUST_TOLERANCE. */
#ifndef BENCH_MEASURE_TRUST_H
#define BENCH_MEASURE_TRUST_H

#include "measure/contender.h"

extern const double TRUST_TOLERANCE;

/* Set the result's trust, after its rounds. */
void trust_find(contender_t *contender);

#endif
