/* The result of --lock-clocks in run.json: measure.lock_clocks in the run's environment. */
#ifndef BENCH_RESULTS_CLOCK_RECORD_H
#define BENCH_RESULTS_CLOCK_RECORD_H

#include "model/environment.h"

/* `asked_mhz` is 0 if no lock was asked for; `locked_mhz` is 0 if it failed, for `reason`. */
void lock_clocks_record(environment_t *env, unsigned asked_mhz, unsigned locked_mhz,
                        const char *reason);
/* NaN if the clock was not locked. */
double lock_clocks_recorded_mhz(const environment_t *env);
/* "the SM clock was locked to 1500 MHz", or why it was not; NULL if no lock was asked for. The
 * caller frees it. */
char *lock_clocks_sentence(const environment_t *env);

#endif
