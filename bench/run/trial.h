/* The contenders of a group in one pass, each with its run: with --against there are two. */
#ifndef BENCH_RUN_TRIAL_H
#define BENCH_RUN_TRIAL_H

#include "run/state.h"

typedef struct trial {
    run_t *run; /* its oracle, seed and rates apply to all */
    const group_t *group;
    char *name; /* of the group */
    contender_t *contenders;
    run_t **sides;         /* the run of each contender */
    case_state_t **states; /* of each contender's case */
    size_t n;
    contender_t *verifier; /* the oracle while it is open for verify(); else NULL */
} trial_t;

/* That of case `i` of a group, which the caller frees: isolated, it has the same worker in all passes, also if
 * others of the group are done, as what it compiled is there. */
char *trial_role(const run_t *run, size_t i);

/* Make a contender, not opened yet. One that cannot run is inactive and its result says why. Those
 * with equal roles share a worker process for each engine. */
status_t trial_contender(run_t *run, const case_t *spec, const char *role, contender_t *contender,
                         error_t *err);

/* Room for `most` contenders. */
trial_t trial_make(run_t *run, const group_t *group, size_t most);
/* Case `i` of the group, to be measured for `side`. */
status_t trial_add(trial_t *trial, run_t *side, const group_t *group, size_t i, error_t *err);
/* Is there nothing to measure in this pass: was it finished before --resume, or the case dropped? */
bool case_is_done(const run_t *side, const case_state_t *state);
/* Open all, in reverse order if `backward`; verify, take rounds in turns, verify again, write the
 * results. */
status_t trial_measure(trial_t *trial, bool backward, error_t *err);
void trial_free(trial_t *trial);

#endif
