/* The order of rounds. Contenders of a group take turns in a shuffled order, forwards and backwards
 * (A B C, C B A, then a new shuffle), so that clock drift affects all equally, until each has
 * stopped. Paired contenders are adjacent and take equally many rounds. */
#ifndef BENCH_MEASURE_SCHEDULE_H
#define BENCH_MEASURE_SCHEDULE_H

#include "measure/contender.h"

#include <signal.h>

/* Call `round` for every active contender in turn until its result has a stop reason. The group's
 * number `stream` varies the order. Returns early when `*interrupted` becomes non-zero. */
void schedule_turns(contender_t *contenders, size_t n, void (*round)(contender_t *contender),
                    uint64_t seed, uint32_t stream, const volatile sig_atomic_t *interrupted);

/* Warm up every active contender, then sample them in turns until all have stopped. */
void schedule_rounds(contender_t *contenders, size_t n, uint64_t seed, uint32_t stream,
                     const volatile sig_atomic_t *interrupted);

#endif
