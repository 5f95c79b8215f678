/* What `bench run --against` measures again: cases of which it cannot be said yet whether they are
 * slower. */
#ifndef BENCH_RUN_AB_RECHECK_H
#define BENCH_RUN_AB_RECHECK_H

#include "compare/comparison.h"

/* Of one case and build, each of them a process: whom so many do not decide, more will not
 * either. */
enum { RECHECK_MOST_ROUNDS = STATS_MOST_BLOCKS };

/* Add the ids of the cases that deserve more rounds to `ids`: undecided as a whole, and with fewer
 * than RECHECK_MOST_ROUNDS. A case that is regressed has its verdict, whatever its other phases
 * say. Returns how many more rounds each side of each of them takes: as many as the one with the
 * most has, so that what is looked at again has doubled, and there are few looks, but none past
 * RECHECK_MOST_ROUNDS; 0 when there is none. */
unsigned recheck_choose(const comparison_t *comparison, text_list_t *ids);

#endif
