/* The requests of the worker protocol: their keys and types, and those that run an open case or change its inputs. */
#ifndef BENCH_WORKER_REQUESTS_H
#define BENCH_WORKER_REQUESTS_H

#include "base/error.h"
#include "engine/session.h"
#include "engine/trace.h"

#include <jansson.h>

/* The engines of this program; workload_session() has what they can run. */

extern const engine_t engine_cpu, engine_cuda, engine_null;

const engine_t *engine_find(const char *name); /* or NULL */

enum { PROTOCOL_VERSION = 2 };

typedef enum protocol_op {
    OP_HELLO,
    OP_OPEN,
    OP_REFILL,
    OP_OUTPUT,
    OP_SAMPLE,
    OP_AUDIT,
    OP_LAST,
    OP_TRACE_START,
    OP_TRACE,
    OP_CLOSE,
    OP_BYE
} protocol_op_t;

/* Parse one line and check op, keys and types; NULL with the reason in `err` if it is invalid. The
 * caller owns the object. */
json_t *protocol_parse_request(const char *line, protocol_op_t *op, error_t *err);

/* A key of a request: 0 or NULL if it is absent. */
json_int_t request_integer(const json_t *request, const char *key);
const char *request_text(const json_t *request, const char *key);

/* The requests that run an open case or change its inputs: refill, output, sample, last,
 * learned; and loss, of what a sample of a case left. */

/* Make the inputs those of the latest refill, which another open case that shares them may have
 * changed. To be called before anything runs the case. */
status_t case_restore_inputs(session_t *session, error_t *err);

/* The answer without its status, which the caller owns; NULL means failed, with the reason in
 * `err`. */
json_t *case_refill(session_t *session, const json_t *request, error_t *err);
json_t *case_output(session_t *session, const json_t *request, error_t *err);
json_t *case_sample(session_t *session, const json_t *request, error_t *err);
json_t *case_audit(session_t *session, const json_t *request, error_t *err);
json_t *case_last(session_t *session, const json_t *request, error_t *err);

/* Tracing inside a worker, from before a case is opened until it has run. */

/* Discard earlier events and start. On a GPU also attach CUPTI; if that fails, trace->source says
 * why. */
void trace_session_start(trace_t *trace, const engine_t *engine);
/* Warm up, run every probe and the output once, and write the events to `path`. */
status_t trace_session_run(trace_t *trace, session_t *session, const char *path, int64_t origin_ns,
                           error_t *err);
void trace_session_stop(trace_t *trace);

#endif
