/* What the report says is decided here, apart from how it is said: which cases face each other at
 * each batch, by how much one is faster, and whether the data carry that. */
#ifndef BENCH_REPORT_COMPARE_H
#define BENCH_REPORT_COMPARE_H

#include "contender_name.h"
#include "ground/stats.h"
#include "steps/results.h"

typedef enum verdict {
    VERDICT_NONE,          /* one of the two has no time */
    VERDICT_OURS,          /* the interval of the ratio lies above 1 */
    VERDICT_THEIRS,        /* … below 1 */
    VERDICT_NO_DIFFERENCE, /* … holds 1 */
    VERDICT_UNDECIDED,     /* too few rounds for an interval */
} verdict_t;

typedef struct duel {
    const phase_t *ours, *theirs; /* NULL where that side has no time */
    stats_ratio_t ratio;          /* theirs / ours: above 1, ours is faster */
    verdict_t verdict;
} duel_t;

/* Either case may be NULL, and a case that is not ok has no time. */
duel_t duel_make(const case_result_t *ours, const char *our_phase, const case_result_t *theirs,
                 const char *their_phase);

/* Our own code on one kind of device, which faces PyTorch on the same kind. */
typedef struct side {
    const char *device, *engine;
    const char *name;  /* "CUDA" */
    const char *place; /* "on the GPU" */
    const char
        *oracle; /* variant that is the yardstick for correctness and no contender; or NULL */
} side_t;

/* Who a case of a family belongs to. Others are workers that are neither ours nor PyTorch's. */
typedef enum party { PARTY_OURS, PARTY_PYTORCH, PARTY_OTHERS } party_t;

/* The contenders at one batch. `best`, `fastest` and `other` are ok and have the family's phase, or
 * are NULL; `study` and `eager` are there whatever became of them. */
typedef struct batch_row {
    int64_t batch;
    const case_result_t *best;    /* our fastest */
    const case_result_t *study;   /* rung 01 in the study's set-up */
    const case_result_t *eager;   /* PyTorch eager */
    const case_result_t *fastest; /* PyTorch's fastest mode */
    const case_result_t *other;   /* the fastest of the others */
    duel_t headline;              /* best against fastest */
    duel_t against_eager;         /* best against eager */
    duel_t against_other;         /* best against other */
    duel_t against_study;         /* best against study, which stands as "theirs" */
    duel_t study_total;           /* study against eager, `total`: what the study compared */
} batch_row_t;

/* Cases of one workload that differ only in batch, contender and technique, on one side. */
typedef struct family {
    const run_record_t *run;
    const side_t *side;
    const char *workload; /* borrowed */
    char *key;            /* "4-5-1, f32" */
    const char *phase;    /* what they are compared by: "host_to_host", or "total" without it */
    batch_row_t *rows;    /* ascending */
    size_t n_rows;
} family_t;

typedef struct family_list {
    family_t *items;
    size_t n, capacity;
} family_list_t;

/* Families of a workload, in the order in which the run has them, the GPU's before the CPU's. */
family_list_t families_of(const run_record_t *run, const char *workload);
void family_list_free(family_list_t *list);

/* Does the case belong to this family, and in it to this party? */
bool family_has(const family_t *family, const case_result_t *result, party_t party);
/* The party's ok case at `batch` with the least median of `phase`; NULL when there is none. */
const case_result_t *family_fastest(const family_t *family, int64_t batch, party_t party,
                                    const char *phase);

typedef struct family_size {
    size_t n, timed; /* cases of all parties; those whose times may be shown */
    size_t statuses[CASE_THROTTLED + 1];
} family_size_t;

family_size_t family_size(const family_t *family);

/* Where the lead passes from one to the other along the batches. */
typedef struct crossover {
    size_t n_changes;                 /* 0: no crossover; over 1: no single one */
    int64_t last_before, first_after; /* of the last change */
    verdict_t before, after;
} crossover_t;

typedef duel_t (*duel_of_t)(const batch_row_t *row);
crossover_t find_crossover(const family_t *family, duel_of_t duel_of);

/* Up to three rows that stand for all: the first, batch 64 (else the middle one) and the last of
 * those that `fits`. Returns how many. */
size_t key_rows(const family_t *family, bool (*fits)(const batch_row_t *row),
                const batch_row_t *rows[3]);

#endif
