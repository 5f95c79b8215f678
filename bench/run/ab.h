/* `bench run --against OTHER_BUILD`: the other build's side is a second run_t with its own sweeps
 * (its kernels may differ), workers and folder (OUT/against). In each pass both sides take rounds in
 * turns. */
#ifndef BENCH_RUN_AB_H
#define BENCH_RUN_AB_H

#include "run/state.h"

typedef struct ab {
    run_t *ours;
    run_t theirs;
    run_options_t options; /* theirs: a modified copy of ours */
    build_t build;         /* theirs */
    char *pair, *out;      /* run_t.pair of both sides; their folder */
} ab_t;

/* The same group in both builds; either may be empty. */
typedef struct ab_group {
    group_t ours, theirs;
    const text_list_t *recheck_ids; /* measure only these cases; NULL: all */
} ab_group_t;

/* ab.c: all steps of such a run. */
status_t run_against(run_t *run, error_t *err);

/* ab_measure.c */
/* Measure all groups in pass `number`, of `recheck_ids` unless NULL. Ends after the group during which
 * `deadline_ns` (0: none) passes. */
status_t ab_measure_pass(ab_t *ab, unsigned number, const text_list_t *recheck_ids,
                         int64_t deadline_ns, error_t *err);

/* ab_recheck.c */
/* Re-measure undecided cases, for up to options->recheck_limit_s. */
status_t ab_recheck(ab_t *ab, error_t *err);

#endif
