/* The request that opens a case (docs/worker-protocol.md). */
#ifndef BENCH_MEASURE_OPEN_REQUEST_H
#define BENCH_MEASURE_OPEN_REQUEST_H

#include "compile/compile.h"

#include <jansson.h>

/* Tell the worker of a rung the program that fills its inputs on the device. */
void open_request_set_refill(json_t *request, const char *cubin);
/* The caller owns it. `program` may be NULL. */
json_t *open_request_make(const case_t *spec, const program_t *program, uint64_t seed,
                          bool profile);
/* Does the worker that gave this answer to hello run the case in code that a tuning compiler makes? */
bool open_request_is_tuned(const json_t *hello, const case_t *spec);
/* Does the worker that gave this answer to hello take this key of open, in every case? */
bool open_request_may_have(const json_t *hello, const char *name);
/* Let the compiler keep its code and choices in <folder>/<draw>. */
void open_request_set_cache(json_t *request, const char *folder, unsigned draw);
/* Another pass gives its results: the worker that gave this answer to hello may leave out what only
 * they take. */
void open_request_without_results(json_t *request, const json_t *hello);

#endif
