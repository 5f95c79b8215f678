/* `bench run --against OTHER_BUILD`: the other build's side is a second run_t with its own sweeps
 * (its kernels may differ), workers and folder (OUT/against). In each pass both sides take rounds in
 * turns. */
#ifndef BENCH_RUN_AGAINST_AB_H
#define BENCH_RUN_AGAINST_AB_H

#include "compare/comparison.h"
#include "run/state.h"

/* Which cases `bench run --against` re-measures: those whose verdict is still undecided. */

/* Per case. One that is undecided after so many stays undecided. */
enum { RECHECK_MOST_PASSES = STATS_MOST_PASSES };

/* Add to `ids` the cases that need more passes: undecided as a whole (a regressed case is decided,
 * whatever its other phases show), not for having two values, and with fewer than RECHECK_MOST_PASSES. Returns how many passes
 * to add: the number of the case with most, so that each interim look sees twice
 * the data and there are few looks, capped at RECHECK_MOST_PASSES in total. 0: nothing to do. */
unsigned recheck_choose(const comparison_t *comparison, text_list_t *ids);

/* ab.c: all steps of such a run. */
status_t run_against(run_t *run, error_t *err);

#endif
