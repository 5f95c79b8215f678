/* `bench run --against OTHER_BUILD`: the other build's side is a second run_t with its own sweeps
 * (its kernels may differ), workers and folder (OUT/against). Both sides take rounds in turns, in
 * several replicates; each replicate starts new processes of both builds. */
#ifndef BENCH_RUN_AB_H
#define BENCH_RUN_AB_H

#include "run/state.h"

typedef struct ab {
    run_t *ours;
    run_t theirs;
    run_options_t options;  /* theirs: a modified copy of ours */
    build_t build;          /* theirs */
    char *pair, *out;       /* run_t.pair of both sides; their folder */
    record_t *rechecked[2]; /* during a recheck: the earlier results of ours, theirs */
} ab_t;

/* The same group in both builds; either may be empty. */
typedef struct ab_group {
    group_t ours, theirs;
    const text_list_t *recheck_ids; /* extend only these cases; NULL: all unfinished ones */
    unsigned n_replicates;          /* each counts as one round of the results */
    int64_t deadline_ns;            /* after this, one last replicate; 0: none */
} ab_group_t;

/* ab.c: all steps of such a run. */
status_t run_against(run_t *run, error_t *err);

/* ab_measure.c */
/* The next group of a sweep: our groups first, each with its counterpart, then the groups that only
 * the other build has. `*at` and `*at_theirs` start at 0. False when there are no more. */
bool ab_next_group(const ab_t *ab, size_t sweep, size_t *at, size_t *at_theirs, ab_group_t *group);
status_t ab_measure(ab_t *ab, const ab_group_t *group, error_t *err);

/* ab_recheck.c */
/* Re-measure undecided cases, for up to options->recheck_limit_s. */
status_t ab_recheck(ab_t *ab, error_t *err);

#endif
