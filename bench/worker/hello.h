/* The answer to hello: what a worker of this program is and can run. */
#ifndef BENCH_WORKER_HELLO_H
#define BENCH_WORKER_HELLO_H

#include "engine/session.h"

#include <jansson.h>

/* A new reference. `facts`: from engine_t.start. */
json_t *worker_hello(const engine_t *engine, const environment_t *facts);

#endif
