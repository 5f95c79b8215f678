/* Comparisons: which cases are compared at each size, the speed-up and its verdict. The size is the
 * parameter named by the workload's descriptor (size_param): batch, points, … */
#ifndef BENCH_ANALYSIS_SPEEDUP_H
#define BENCH_ANALYSIS_SPEEDUP_H

#include "analysis/contenders.h"
#include "model/result.h"
#include "results/record.h"
#include "stats/passes.h"

/* Names of contenders in charts and reports, and classes of cases. */

typedef enum verdict {
    VERDICT_NONE,          /* one side has no time, or a self-reported one */
    VERDICT_OURS,          /* the interval of the ratio lies above 1 */
    VERDICT_THEIRS,        /* … below 1 */
    VERDICT_NO_DIFFERENCE, /* … includes 1 */
    VERDICT_UNDECIDED,     /* too few passes for an interval */
} verdict_t;

typedef struct speedup {
    const phase_t *ours, *theirs; /* NULL: no time */
    /* theirs / ours: above 1, ours is faster. If a side has two values (phase_t.bimodal), or a draw that
     * its passes do not reach, the interval covers the ratio of either. */
    stats_interval_t ratio;
    verdict_t verdict;
    bool self_reported; /* both have times, but one is self-reported (trust_t): no ratio */
} speedup_t;

/* Either case may be NULL; a case that is not ok has no time. */
speedup_t speedup_make(const case_result_t *ours, const char *our_phase,
                       const case_result_t *theirs, const char *their_phase);

/* The passes load the code of one draw, and yet all of them may be slower than the process that compiled
 * it: its median in ns, if it lies below theirs by more than the range of their logarithms; else NaN. */
double speedup_unreached_draw(const case_result_t *result, const phase_t *phase);

/* Which side has the lower time by this ratio, theirs over ours? */
verdict_t speedup_verdict(const stats_interval_t *ratio);

/* Whose cases on a set's device: ours, all rivals', anyone's of these; or an engine's, by its name. */
#define OURS "(ours)"
#define RIVALS "(rivals)"
#define ANYONE "(anyone)"

/* A rival at one size. */
typedef struct rival {
    const char *engine; /* borrowed */
    standing_t standing;
    speedup_t speedup; /* our fastest against standing_compared() */
} rival_t;

/* The contenders at one size, by the set's phase. All but `study` and `eager`, which may have any status,
 * are chosen by standing_add(). */
typedef struct size_row {
    int64_t size;
    standing_t ours, theirs;        /* of all of ours, and of all rivals' */
    const case_result_t *best;      /* our fastest */
    const case_result_t *strongest; /* the fastest of the rivals */
    rival_t *rivals;                /* the set's n_rivals, in its order */
    const case_result_t *study;     /* of ours, in the set-up of the workload's study */
    const case_result_t *eager;     /* PyTorch eager, the study's other side */
    /* Of a set of candidates, what is called as eager mode is: their fastest single call that no graph and
     * no compiler has a part in, variants without a "+"; or NULL. */
    const case_result_t *plain;
    /* Our fastest and the strongest rival on the CPU; NULL in a set of the CPU. */
    const case_result_t *host, *host_rival;
    speedup_t headline;            /* best against strongest, either claimed if there is no other */
    speedup_t plain_against_eager; /* plain against eager, one call each (ONE_CALL) */
} size_row_t;

typedef struct sized_case {
    int64_t size;
    size_t place; /* in the run */
} sized_case_t;

/* Cases of one workload that differ only in size, contender and technique, on one platform. */
typedef struct comparison_set {
    const record_t *run;
    const platform_t *platform, *host; /* host: the CPU's */
    const char *workload;              /* borrowed */
    const char *size_param;            /* "batch" */
    int64_t reference_size;            /* shown in findings with the smallest and largest size */
    char *key;                         /* "layers=4-5-1, seed=1, f32" */
    char *label;               /* the same without what all sets of the list have in common */
    char *shape, *shape_label; /* key and label without the seed: "layers=4-5-1, f32" */
    const char *phase;         /* compared: the workload's, else "host_to_host", else "total" */
    const char **rivals;       /* their engines by engine_order(); names borrowed */
    size_t n_rivals;
    size_row_t *rows; /* ascending */
    size_t n_rows;
    /* Those that share its work: by size, then as in the run. comparison_set_by() borrows them. */
    sized_case_t *sized;
    size_t n_sized;
} comparison_set_t;

typedef struct comparison_set_list {
    comparison_set_t *items;
    size_t n, capacity;
    char *common; /* parameters equal in all sets: "layers=4-5-1"; or NULL */
} comparison_set_list_t;

/* The comparison sets of a workload in the run's order, the GPU's first. */
comparison_set_list_t comparison_sets_of(const record_t *run, const char *workload);
void comparison_set_list_free(comparison_set_list_t *list);
/* The same set compared by another phase, or by that of a whole sample. Free the rows with
 * comparison_set_free_rows(). */
comparison_set_t comparison_set_by(const comparison_set_t *set, const char *phase);
comparison_set_t
comparison_set_by_whole(const comparison_set_t *set); /* host_to_host, else total */
void comparison_set_free_rows(comparison_set_t *set);

/* Does the case do the set's work, at any size, by any contender and on any device? */
bool comparison_set_shares_work(const comparison_set_t *set, const case_t *spec);
/* Is the case in this set, and `whose`? */
bool comparison_set_has(const comparison_set_t *set, const case_result_t *result,
                        const char *whose);
/* The case's value of the set's size_param; -1 if it has none. */
int64_t size_of_case(const comparison_set_t *set, const case_t *spec);

/* The next such case at this size after `after` (NULL: the first); NULL at the end. */
#define EVERY_SIZE INT64_MIN

const case_result_t *comparison_set_next(const comparison_set_t *set, const case_result_t *after,
                                         const char *whose, int64_t size);
/* The fastest of that; NULL if none. */
const case_result_t *comparison_set_fastest(const comparison_set_t *set, int64_t size,
                                            const char *whose, const char *phase);

typedef struct comparison_set_count {
    size_t n, timed; /* cases of anyone; those with times */
} comparison_set_count_t;

comparison_set_count_t comparison_set_count(const comparison_set_t *set);

/* Sort sizes and keep each once; returns how many are left. */
size_t sizes_once(int64_t *sizes, size_t n);
/* Choose at most so many of them evenly, with both ends; returns how many. */
size_t sizes_spread(const int64_t *sizes, size_t n, int64_t *chosen, size_t most);

/* Statistics of several speed-ups. */
typedef struct tally {
    size_t n, of[VERDICT_UNDECIDED + 1]; /* n: all but VERDICT_NONE */
    size_t n_self_reported;              /* of VERDICT_NONE: speedup_t.self_reported */
    size_t n_lower;                      /* undecided ones in which our time is the lower */
    double least, most;                  /* ratio */
    speedup_t last;                      /* the latest of the n */
} tally_t;

void tally_add(tally_t *tally, const speedup_t *speedup); /* start with {0} */
tally_t tally_of(const comparison_set_t *set);            /* of all headlines */

typedef bool row_fits_t(const size_row_t *row);
/* Store the rows that `fits` in an array of n_rows (or NULL). Returns how many. */
size_t fitting_rows(const comparison_set_t *set, row_fits_t *fits, const size_row_t **rows);
/* Store up to three of the rows that `fits`: the first, the reference size (else the middle one)
 * and the last. Returns how many. */
size_t key_rows(const comparison_set_t *set, row_fits_t *fits, const size_row_t *rows[3]);

#endif
