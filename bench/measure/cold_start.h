/* `bench run --cold`: how long a program takes from its start to one answer. Every sample is a new
 * worker process: start, hello, open, one run, close, bye. All phases use the host clock and begin
 * when the process is spawned, except cold_open:
 *
 *   cold_start         to the answer to hello: interpreter, imports, driver, context
 *   cold_open          from there to the answer to open: buffers, module, first run
 *   cold_first_answer  cold_start + cold_open + one run from host to host
 *   cold_total         to the end of the process
 *
 * A sample also runs other probes (launches in a graph, …). The last two phases exclude them. */
#ifndef BENCH_MEASURE_COLD_START_H
#define BENCH_MEASURE_COLD_START_H

#include "measure/contender.h"
#include "worker/pool.h"

#include <signal.h>

/* Sample every active contender settings->measure.passes times, in the order of schedule_turns(): a
 * process is a pass. Then it stops with STOP_FIXED_COUNT; as one sample may take minutes
 * (torch.compile), neither a precision nor a time limit is suitable. They must have been opened with settings->cold and verified. All `workers` are stopped first, so that no
 * other process keeps a device, a cache or a core warm. */
void cold_rounds(contender_t *contenders, size_t n, workers_t *workers, uint64_t seed,
                 uint32_t stream, const volatile sig_atomic_t *interrupted);

#endif
