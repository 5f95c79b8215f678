/* Which cases `bench run --against` re-measures: those whose verdict is still undecided. */
#ifndef BENCH_RUN_AB_RECHECK_H
#define BENCH_RUN_AB_RECHECK_H

#include "compare/comparison.h"

/* Per case and build, one process each. A case that is undecided after so many stays undecided. */
enum { RECHECK_MOST_ROUNDS = STATS_MOST_BLOCKS };

/* Add to `ids` the cases that need more rounds: undecided as a whole (a regressed case is decided,
 * whatever its other phases show) and with fewer than RECHECK_MOST_ROUNDS. Returns how many rounds
 * to add per side: the number of the case with most rounds, so that each interim look sees twice
 * the data and there are few looks, capped at RECHECK_MOST_ROUNDS in total. 0: nothing to do. */
unsigned recheck_choose(const comparison_t *comparison, text_list_t *ids);

#endif
