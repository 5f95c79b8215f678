/* `bench run --cold`: how long a user waits who starts a program for one answer. Every sample is a
 * worker process of its own: start, hello, open, one run, close, bye. All phases are on the host's
 * clock and begin when the process is spawned, but for cold_open:
 *
 *   cold_start         to the answer to hello: interpreter, imports, driver, context
 *   cold_open          from there to the answer to open: buffers, module, first run
 *   cold_first_answer  cold_start + cold_open + one run from host to host
 *   cold_total         to the end of the process
 *
 * A sample brings other probes along beside that run (launches in a graph, …), which nobody waits
 * for who wants one answer: the last two leave them out. */
#ifndef BENCH_MEASURE_COLD_START_H
#define BENCH_MEASURE_COLD_START_H

#include "measure/contender.h"
#include "worker/pool.h"

#include <signal.h>

/* Samples of each case. The spread of a start is known after a few, and one may take minutes
 * (torch.compile): neither a precision nor a time limit fits, so each contender stops at this count
 * with STOP_FIXED_COUNT. */
enum { COLD_SAMPLES = 5 };

/* Sample every active contender COLD_SAMPLES times, in the order of schedule_turns(). They must
 * have been opened with settings->cold, which checked outputs outside the timed path. Every process
 * of `workers` is ended first, so that no other one keeps a device, a cache or a core awake. */
void cold_rounds(contender_t *contenders, size_t n, workers_t *workers, uint64_t seed,
                 uint32_t stream, const volatile sig_atomic_t *interrupted);

#endif
