/* How far a contender's times are vouched for.
 *
 * A worker that is a script times itself. The supervisor asks it for N and for 2N runs without
 * clocks (`audit` in docs/worker-protocol.md); by its own clock the difference is N runs, without
 * what a request costs. It is divided by the claims' third quartile: samples of one process go up and
 * down between two values (docs/measuring.md), and the audit meets one of them. A little below is not
 * suspicious: runs in a row overlap with what each of them leaves behind. */
#ifndef BENCH_MEASURE_TRUST_H
#define BENCH_MEASURE_TRUST_H

#include "measure/contender.h"

/* The phase that an audit must be of: "host_to_host", else "train", else "batch" (of `allocate`), else
 * "total"; NULL: none has samples. */
const phase_t *trust_audited_phase(const case_result_t *result);

/* What a script claims that a run takes. If contenders are compared by "step", no more than so many of
 * its steps: a true "train" must not vouch for another "step". */
double trust_claimed_ns(const case_result_t *result, const phase_t *audited);

/* Set the result's trust, after its rounds. */
void trust_find(contender_t *contender);

#endif
