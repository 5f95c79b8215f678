/* The contenders of a group while they are measured, and which run each belongs to: the one run of
 * an ordinary `bench run`, or either side of an --against run. */
#ifndef BENCH_RUN_ENTRANTS_H
#define BENCH_RUN_ENTRANTS_H

#include "run/state.h"

typedef struct entrants {
    run_t *run; /* whose oracle, seed and rates hold for all */
    const group_t *group;
    contender_t *contenders;
    run_t **sides; /* of each contender */
    size_t n;
    const reference_t *reference; /* what the oracle computes for the group; borrowed */
} entrants_t;

/* A contender for this case, not opened yet; one that cannot run here is not active and says why.
 */
status_t entrant_make(run_t *run, const case_t *spec, contender_t *contender, error_t *err);

/* Room for `most` contenders. */
entrants_t entrants_make(run_t *run, const group_t *group, size_t most);
status_t entrants_add(entrants_t *entrants, run_t *side, const case_t *spec, error_t *err);
bool entrants_have(const entrants_t *entrants, const run_t *side, const char *id);
/* Cases that were finished before are done, and as bad as they were then. */
void entrants_count_finished(const entrants_t *entrants, run_t *side, const group_t *group);
/* Open the active ones, from the last to the first if `backward`. */
void entrants_open(entrants_t *entrants, bool backward);
/* Fill `reference`, which entrants->reference then points to. Without reference output nothing can
 * be verified, so nothing is timed. False when there is nothing to measure. */
bool entrants_ask_oracle(entrants_t *entrants, reference_t *reference);
/* Rounds in turns, with a check before and behind them. */
void entrants_measure(entrants_t *entrants, bool check_before, bool check_after);
/* Close the cases and summarise. */
void entrants_finish(entrants_t *entrants);
/* Judge the result against what the hardware allows, and journal it. */
status_t entrants_write(entrants_t *entrants, size_t i, error_t *err);
void entrants_free(entrants_t *entrants);

#endif
