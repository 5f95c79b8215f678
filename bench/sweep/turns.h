/* In which order the cases of a sweep are measured. */
#ifndef BENCH_SWEEP_TURNS_H
#define BENCH_SWEEP_TURNS_H

#include "sweep/sweep.h"

/* Of a case: 0, 1, … All cases of a turn are measured before those of the next, so that a GPU does not wait for what runs
 * on the CPU. With --quick what compiles first, which takes seconds, has later turns than the rest. */
unsigned case_turn(const case_t *spec, bool quick);

/* Sort by turn; within one the order stays. */
void sweep_order(sweep_t *sweep, bool quick);

#endif
