/* What a worker of this program says about itself in its answer to hello. */
#ifndef BENCH_WORKER_HELLO_H
#define BENCH_WORKER_HELLO_H

#include "engine/session.h"

#include <jansson.h>

/* A new reference. `facts` are what engine_t.start described. */
json_t *worker_hello(const engine_t *engine, const environment_t *facts);

#endif
