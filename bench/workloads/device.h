/* What the sessions of the device workload share with its descriptor. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include "engines/engine.h"

enum { DEVICE_READ_PASSES = 100 }; /* over the buffer in one launch of kernels/device/ */

/* Open a case that reads (it brings a program) on a GPU: sets session->ops too. */
status_t device_read_open(session_t *session, const open_request_t *request, error_t *err);

#endif
