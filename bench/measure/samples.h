/* What a worker claims to have measured, held against what is possible. */
#ifndef BENCH_MEASURE_SAMPLES_H
#define BENCH_MEASURE_SAMPLES_H

#include "model/result.h"

#include <jansson.h>

typedef struct sample_claim {
    const json_t *answer; /* to a `sample` request … */
    size_t most;          /* … for at most so many samples of each phase … */
    bool fresh;           /* … and one more, the last, on inputs that were new */
    double waited_ns;     /* for how long the worker's threads waited for a core meanwhile */
    double took_ns;       /* from the request to the answer; INFINITY: times need not fit into it */
} sample_claim_t;

/* Add the round's samples to each phase of `into`, a fresh one to phase->fresh unless it is the only
 * one. NULL, or why not, which the caller frees: a phase
 * has none, or more than were asked for; a time is not a number, under 0, or longer than the request
 * took; or the times of the phase that cases are compared by are 0 or together longer than that. */
char *samples_add(case_result_t *into, const sample_claim_t *claim);
/* Add the last number of each phase in the answer to phase->fresh: it is that of one probe. */
char *samples_add_fresh(case_result_t *into, const sample_claim_t *claim);

#endif
