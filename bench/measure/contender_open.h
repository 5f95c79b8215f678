/* The request that opens a case (docs/worker-protocol.md). */
#ifndef BENCH_MEASURE_CONTENDER_OPEN_H
#define BENCH_MEASURE_CONTENDER_OPEN_H

#include "compile/compile.h"

#include <jansson.h>

/* The caller owns it. `program` may be NULL. */
json_t *open_request_make(const case_t *spec, const program_t *program, uint64_t seed,
                          bool profile);
/* Does the worker that gave this answer to hello run the case in code that a tuning compiler makes? */
bool open_request_is_tuned(const json_t *hello, const case_t *spec);
/* Let the compiler keep its code and choices in <folder>/<draw>. */
void open_request_set_cache(json_t *request, const char *folder, unsigned draw);
/* Another pass gives its results: the worker that gave this answer to hello may leave out what only
 * they take. */
void open_request_without_results(json_t *request, const json_t *hello);

#endif
