/* Tracing inside a worker, from before a case is opened until it has run. */
#ifndef BENCH_WORKER_TRACE_SESSION_H
#define BENCH_WORKER_TRACE_SESSION_H

#include "engine/session.h"
#include "engine/trace.h"

/* Discard earlier events and start. On a GPU also attach CUPTI; if that fails, trace->source says
 * why. */
void trace_session_start(trace_t *trace, const engine_t *engine);
/* Warm up, run every probe and the output once, and write the events to `path`. */
status_t trace_session_run(trace_t *trace, session_t *session, const char *path, int64_t origin_ns,
                           error_t *err);
void trace_session_stop(trace_t *trace);

#endif
