/* `bench run --against OTHER_BUILD`: the other build's side of the run is a run_t of its own, with
 * its own sweeps (its kernels may be others), workers and folder, OUT/against. Both sides take
 * rounds in turns, in several visits, each to fresh processes of both. */
#ifndef BENCH_RUN_AB_H
#define BENCH_RUN_AB_H

#include "run/state.h"

typedef struct ab {
    run_t *ours;
    run_t theirs;
    run_options_t options; /* of that side: ours with changes */
    build_t build;         /* of that side */
    char *pair, *out;      /* run_t's pair of both; that side's folder */
    record_t *again[2];    /* while undecided cases are measured again: what ours and theirs hold */
} ab_t;

/* The same group in both builds; either may be empty. */
typedef struct ab_group {
    group_t ours, theirs;
    const text_list_t *again; /* more visits for these ids; NULL: all that are not finished */
    unsigned n_visits;        /* to fresh processes, each of them a round of the results */
    int64_t deadline_ns;      /* no more visits but a last one from then on; 0: none */
} ab_group_t;

/* ab.c: the sentence of such a run. */
status_t run_against(run_t *run, error_t *err);

/* ab_measure.c */
/* The next group of a sweep: first ours, each with the other build's cases, then those that only
 * that build has. `*at` and `*there` begin at 0. False when there are no more. */
bool ab_next_group(const ab_t *ab, size_t sweep, size_t *at, size_t *there, ab_group_t *group);
status_t ab_measure(ab_t *ab, const ab_group_t *group, error_t *err);

/* ab_recheck.c */
/* Measure what is undecided again, up to options->recheck_limit_s. */
status_t ab_recheck(ab_t *ab, error_t *err);

#endif
