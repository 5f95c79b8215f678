/* The requests that run an open case or change its inputs: refill, output, sample, last,
 * learned; and loss, of what a sample of a case left. */
#ifndef BENCH_WORKER_CASE_REQUESTS_H
#define BENCH_WORKER_CASE_REQUESTS_H

#include "engine/session.h"

#include <jansson.h>

/* Make the inputs those of the latest refill, which another open case that shares them may have
 * changed. To be called before anything runs the case. */
status_t case_restore_inputs(session_t *session, error_t *err);

/* The answer without its status, which the caller owns; NULL means failed, with the reason in
 * `err`. */
json_t *case_refill(session_t *session, const json_t *request, error_t *err);
json_t *case_output(session_t *session, const json_t *request, error_t *err);
json_t *case_sample(session_t *session, const json_t *request, error_t *err);
json_t *case_last(session_t *session, const json_t *request, error_t *err);
json_t *case_learned(session_t *session, const json_t *request, error_t *err);
json_t *case_loss(const session_ops_t *ops, const case_t *spec, const json_t *request,
                  error_t *err);

#endif
