/* The contenders of a group while they are measured, each with its run: with --against there are
 * two. */
#ifndef BENCH_RUN_ENTRANTS_H
#define BENCH_RUN_ENTRANTS_H

#include "run/state.h"

typedef struct entrants {
    run_t *run; /* its oracle, seed and rates apply to all */
    const group_t *group;
    contender_t *contenders;
    run_t **sides; /* the run of each contender */
    size_t n;
    const reference_t *reference; /* borrowed */
} entrants_t;

/* Make a contender, not opened yet. One that cannot run is inactive and its result says why. */
status_t entrant_make(run_t *run, const case_t *spec, contender_t *contender, error_t *err);

/* Room for `most` contenders. */
entrants_t entrants_make(run_t *run, const group_t *group, size_t most);
status_t entrants_add(entrants_t *entrants, run_t *side, const case_t *spec, error_t *err);
/* Count cases finished before --resume as done, and the broken ones among them as bad. */
void entrants_count_finished(const entrants_t *entrants, run_t *side, const group_t *group);
/* Open the active ones, in reverse order if `backward`. */
void entrants_open(entrants_t *entrants, bool backward);
/* Fill `reference` and point entrants->reference at it. Without reference output nothing can be
 * verified, so nothing is timed. False when there is nothing to measure. */
bool entrants_compute_reference(entrants_t *entrants, reference_t *reference);
/* Take rounds in turns, with outputs verified before and after. */
void entrants_measure(entrants_t *entrants, bool check_before, bool check_after);
/* Close the cases and summarise. */
void entrants_finish(entrants_t *entrants);
/* Compare the result with the hardware limits and journal it. */
status_t entrants_write(entrants_t *entrants, size_t i, error_t *err);
void entrants_free(entrants_t *entrants);

#endif
