/* The worker side of the protocol (docs/worker-protocol.md): `bench worker --engine cuda|cpu|null`.
 */
#ifndef BENCH_WORKER_SERVER_H
#define BENCH_WORKER_SERVER_H

#include "base/error.h"

typedef struct worker_options {
    const char *engine; /* "cuda", "cpu", "null" */
    int device;         /* index of the CUDA device */
} worker_options_t;

/* Serve requests from stdin until end of file or `bye`. stdout is taken for answers; whatever else
 * is printed there goes to stderr. Fails only on an unknown engine; a device that cannot be opened
 * is an answer to `hello`. */
status_t worker_serve(const worker_options_t *options, error_t *err);

#endif
