/* Rounds: which contender is sampled when. Contenders of a group take turns in a shuffled order
 * that is walked forth and back (A B C, C B A, then a new shuffle), so that drift of the clock hits
 * all alike, until each has stopped. */
#ifndef BENCH_SCHEDULE_H
#define BENCH_SCHEDULE_H

#include "steps/contender.h"

#include <signal.h>

/* Sample every live contender to its end. `stream` numbers the group, so that each has its own
 * order from the seed. Returns early when `*interrupted` becomes non-zero. */
void schedule_rounds(contender_t *contenders, size_t n, uint64_t seed, uint32_t stream,
                     const volatile sig_atomic_t *interrupted);

#endif
