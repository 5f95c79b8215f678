/* What run.json says of --lock-clocks: measure.lock_clocks in the run's environment. */
#ifndef BENCH_RESULTS_CLOCK_RECORD_H
#define BENCH_RESULTS_CLOCK_RECORD_H

#include "model/environment.h"

/* Write down what was asked for, 0 for nothing, and what came of it: `locked_mhz` is 0 where it was
 * not locked, for a reason. */
void lock_clocks_record(environment_t *env, unsigned asked_mhz, unsigned locked_mhz,
                        const char *reason);
/* The clock that a run was locked to, or NaN. */
double lock_clocks_recorded_mhz(const environment_t *env);
/* "the SM clock was locked to 1500 MHz", or that it was not, and why. NULL where it was not asked
 * for. The caller frees it. */
char *lock_clocks_sentence(const environment_t *env);

#endif
