/* The engines of this program: each file engine_<name>.c lists the workloads that it can run. */
#ifndef BENCH_WORKER_ENGINES_H
#define BENCH_WORKER_ENGINES_H

#include "engine/session.h"

extern const engine_t engine_cpu, engine_cuda, engine_null;

const engine_t *engine_find(const char *name); /* or NULL */

#endif
