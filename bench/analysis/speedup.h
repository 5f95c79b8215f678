/* What the report says is decided here, apart from how it is said: which cases face each other at
 * each size, by how much one is faster, and whether the data carry that. The size is the batch, the
 * number of points, …: whatever the workload's descriptor names (size_param). */
#ifndef BENCH_ANALYSIS_SPEEDUP_H
#define BENCH_ANALYSIS_SPEEDUP_H

#include "analysis/labels.h"
#include "results/record.h"
#include "stats/summary.h"

typedef enum verdict {
    VERDICT_NONE,          /* one of the two has no time */
    VERDICT_OURS,          /* the interval of the ratio lies above 1 */
    VERDICT_THEIRS,        /* … below 1 */
    VERDICT_NO_DIFFERENCE, /* … holds 1 */
    VERDICT_UNDECIDED,     /* too few rounds for an interval */
} verdict_t;

typedef struct speedup {
    const phase_t *ours, *theirs; /* NULL where that side has no time */
    stats_ratio_t ratio;          /* theirs / ours: above 1, ours is faster */
    verdict_t verdict;
} speedup_t;

/* Either case may be NULL, and a case that is not ok has no time. */
speedup_t speedup_make(const case_result_t *ours, const char *our_phase,
                       const case_result_t *theirs, const char *their_phase);

/* The faster of two by a phase, the first where they are equal; either may be NULL, and a case that
 * is not ok loses. NULL where neither has a time. */
const case_result_t *faster_case(const case_result_t *a, const case_result_t *b, const char *phase);

/* Our own code on one kind of device, which faces PyTorch on the same kind. */
typedef struct platform {
    const char *device, *engine;
    const char *name;   /* "CUDA" */
    const char *place;  /* "on the GPU" */
    const char *oracle; /* variant that is the yardstick and no contender; or NULL */
} platform_t;

/* Who a case of a comparison set belongs to. Others are workers that are neither ours nor
 * PyTorch's. */
typedef enum owner { OWNER_OURS, OWNER_PYTORCH, OWNER_OTHERS, OWNER_ANY } owner_t;

/* The contenders at one size. `best`, `fastest`, `other` and those of the host are ok, have the
 * set's phase and are no other algorithm (result_is_algorithmic()), or are NULL; `study` and
 * `eager` are there whatever became of them. */
typedef struct batch_row {
    int64_t size;
    const case_result_t *best;    /* our fastest */
    const case_result_t *study;   /* rung 01 in the study's set-up; of mlp_infer */
    const case_result_t *eager;   /* PyTorch eager */
    const case_result_t *fastest; /* PyTorch's fastest mode */
    const case_result_t *other;   /* the fastest of the others */
    /* The same work on the host: the fastest in C and of PyTorch. NULL in a set of the CPU. */
    const case_result_t *host, *host_pytorch;
    speedup_t headline;             /* best against fastest */
    speedup_t against_eager;        /* best against eager */
    speedup_t against_other;        /* best against other */
    speedup_t against_study;        /* best against study, which stands as "theirs" */
    speedup_t against_host;         /* best against host */
    speedup_t against_host_pytorch; /* best against host_pytorch */
    speedup_t study_total;          /* study against eager, `total`: what the study compared */
} size_row_t;

/* Cases of one workload that differ only in size, contender and technique, on one platform. */
typedef struct comparison_set {
    const record_t *run;
    const platform_t *platform;
    const char *workload;   /* borrowed */
    const char *size_param; /* "batch" */
    int64_t reference_size; /* what findings tell between the smallest and the largest size */
    char *key;              /* "4-5-1, seed=1, f32" */
    char *shape;            /* the same without the seed: "4-5-1, f32" */
    const char *phase;      /* what they are compared by: the workload's own phase, else
                               "host_to_host", or "total" without it */
    size_row_t *rows;       /* ascending */
    size_t n_rows;
} comparison_set_t;

typedef struct comparison_set_list {
    comparison_set_t *items;
    size_t n, capacity;
} comparison_set_list_t;

/* The comparison sets of a workload, in the order in which the run has them, the GPU's before the
 * CPU's. */
comparison_set_list_t comparison_sets_of(const record_t *run, const char *workload);
void comparison_set_list_free(comparison_set_list_t *list);

/* Is the case's work that of the set, but for its size, whoever does it and where? */
bool comparison_set_shares_work(const comparison_set_t *set, const case_t *spec);
/* Does the case belong to this set, and in it to this owner? */
bool comparison_set_has(const comparison_set_t *set, const case_result_t *result, owner_t owner);
/* The case's value of the set's size_param; -1 when it has none. */
int64_t size_of_case(const comparison_set_t *set, const case_t *spec);
/* The owner's first case at this size after `after` (NULL: of all), in the order of the run; NULL
 * when there is none. Start with NULL and pass on what it returns, to see them all. */
#define EVERY_SIZE INT64_MIN
const case_result_t *comparison_set_next(const comparison_set_t *set, const case_result_t *after,
                                         owner_t owner, int64_t size);
/* The owner's ok case at `size` with the least median of `phase`; NULL when there is none. Another
 * algorithm (result_is_algorithmic()), or a lower precision (is_rougher()), is not among those to
 * choose from. */
const case_result_t *comparison_set_fastest(const comparison_set_t *set, int64_t size,
                                            owner_t owner, const char *phase);

typedef struct comparison_set_count {
    size_t n, timed; /* cases of all owners; those whose times may be shown */
} comparison_set_count_t;

comparison_set_count_t comparison_set_count(const comparison_set_t *set);

typedef speedup_t (*speedup_of_t)(const size_row_t *row);

/* Many speed-ups in numbers. */
typedef struct tally {
    size_t n, of[VERDICT_UNDECIDED + 1]; /* n: all but VERDICT_NONE */
    double least, most;                  /* ratio */
    speedup_t last;                      /* of the n: the one, when there is one */
} tally_t;

void tally_add(tally_t *tally, const speedup_t *speedup); /* start with {0} */
tally_t tally_of(const comparison_set_t *set, speedup_of_t speedup_of);

/* Where the lead passes from one to the other along the sizes. */
typedef struct crossover {
    size_t n_changes;                 /* 0: no crossover; over 1: no single one */
    int64_t last_before, first_after; /* of the last change */
    verdict_t before, after;
} crossover_t;

crossover_t find_crossover(const comparison_set_t *set, speedup_of_t speedup_of);

/* The rows that `fits`, in an array of n_rows (NULL: not wanted). Returns how many. */
size_t fitting_rows(const comparison_set_t *set, bool (*fits)(const size_row_t *row),
                    const size_row_t **rows);
/* Up to three rows that stand for all: the first, the reference size (else the middle one) and the
 * last of those that `fits`. Returns how many. */
size_t key_rows(const comparison_set_t *set, bool (*fits)(const size_row_t *row),
                const size_row_t *rows[3]);

#endif
