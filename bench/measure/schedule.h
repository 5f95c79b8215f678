/* Rounds: which contender is sampled when. Contenders of a group take turns in a shuffled order
 * that is walked forth and back (A B C, C B A, then a new shuffle), so that drift of the clock hits
 * all alike, until each has stopped. Twins (the same case in two builds) are next to each other and
 * take equally many rounds. */
#ifndef BENCH_MEASURE_SCHEDULE_H
#define BENCH_MEASURE_SCHEDULE_H

#include "measure/contender.h"

#include <signal.h>

/* Let every active contender take its turns with `round` until its result says why it stopped.
 * `stream` numbers the group, so that each has its own order from the seed. Returns early when
 * `*interrupted` becomes non-zero. */
void schedule_turns(contender_t *contenders, size_t n, void (*round)(contender_t *contender),
                    uint64_t seed, uint32_t stream, const volatile sig_atomic_t *interrupted);

/* Warm up every active contender, then sample each to its end in turns. */
void schedule_rounds(contender_t *contenders, size_t n, uint64_t seed, uint32_t stream,
                     const volatile sig_atomic_t *interrupted);

#endif
