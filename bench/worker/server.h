/* `bench worker --engine cuda|cpu|null`: the worker side of docs/worker-protocol.md. */
#ifndef BENCH_WORKER_SERVER_H
#define BENCH_WORKER_SERVER_H

#include "base/error.h"

typedef struct worker_options {
    const char *engine; /* "cuda", "cpu", "null" */
    int device;         /* index of the CUDA device */
} worker_options_t;

/* Serve requests from stdin until end of file or `bye`. Answers go to stdout; any other output to
 * stdout is redirected to stderr. Fails on an unknown engine or a lost device; a device that cannot
 * be opened is reported in the answer to `hello`. */
status_t worker_serve(const worker_options_t *options, error_t *err);

#endif
