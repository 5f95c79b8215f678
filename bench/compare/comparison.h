/* The comparison of two runs: made by comparison_make(), printed by compare.c. */
#ifndef BENCH_COMPARE_COMPARISON_H
#define BENCH_COMPARE_COMPARISON_H

#include "base/memory.h"
#include "gate/decision.h"
#include "results/conditions.h"
#include "results/record.h"

/* In the order of tables: the worst first. */
typedef enum pair_verdict {
    PAIR_BROKEN,       /* wrong or failed in CANDIDATE, and not in BASE */
    PAIR_REGRESSED,    /* a phase is slower */
    PAIR_UNDECIDED,    /* no phase is decided */
    PAIR_MISSING,      /* has times in BASE; absent or skipped in CANDIDATE */
    PAIR_INCOMPARABLE, /* no times in either, throttled, or not by the rules of results/conditions.h */
    PAIR_IMPROVED,     /* a phase is faster, and none slower */
    PAIR_NEW,          /* has times in CANDIDATE only */
    PAIR_UNCHANGED,
    PAIR_VERDICTS
} pair_verdict_t;

const char *pair_verdict_name(pair_verdict_t verdict); /* "regressed", …, "not comparable" */

/* A phase of a case that has times on both sides. */
typedef struct cell {
    const phase_t *base, *candidate;
    sweep_cell_t *test; /* of the comparison */
} cell_t;

/* The cells of one engine and phase. */
typedef struct cell_group {
    const char *engine, *phase; /* "pytorch-cuda", "host_to_host" */
    sweep_group_t test;
} cell_group_t;

/* A case of either run. */
typedef struct pair {
    const char *id;
    const case_result_t *base, *candidate; /* NULL if only the other run has the case */
    pair_verdict_t verdict;
    const char *reason; /* why there are no cells, or why some are undecided; may be NULL */
    const char *cause;  /* likely cause of a change; NULL without a change */
    cell_t *cells;
    size_t n_cells;
} pair_t;

/* Does the cell have the verdict of its pair? */
bool pair_is_decided_by(const pair_t *pair, const cell_t *cell);
bool pair_has_undecided(const pair_t *pair); /* a cell, whatever the others are */
/* Its cause and its reason as tables show them; NULL: neither. The caller frees it. */
char *pair_why(const pair_t *pair);

typedef struct comparison {
    const record_t *base, *candidate;
    double threshold_frac;
    bool paired;                 /* the runs were interleaved */
    size_t n_passes[2];          /* of BASE and CANDIDATE: the most of any cell */
    size_t n_floor_runs;         /* runs used for the noise floors, BASE included; 0: no floors */
    text_list_t allowed;         /* "driver: 580.1 in BASE, 590.2 in CANDIDATE" */
    run_differences_t differing; /* other facts in which the runs differ */
    text_list_t changes;         /* these as texts: "git.revision: a → b" */
    pair_t *pairs;               /* by verdict, then by size of the change */
    size_t n_pairs;
    size_t counts[PAIR_VERDICTS];
    sweep_cell_t *tests; /* of all cells, in the order of the pairs before they are sorted */
    size_t n_cells;
    cell_group_t *groups; /* in the order of their first cells */
    size_t n_groups, groups_capacity, n_regressed_groups;
    arena_t texts; /* reasons, causes, names of engines */
} comparison_t;

/* Noise floors: fractions of cells { id: { phase: … } }, and of groups { engine: { phase: … } }. */
typedef struct floors {
    json_t *cells, *groups; /* NULL: there are none */
    size_t n_runs;          /* that they are from */
} floors_t;

/* Read the folder's floor.json, if there is one. */
status_t floors_load(const char *folder, floors_t *floors, error_t *err);
/* Learn those of cells from more runs of BASE's build: STATUS_INCOMPARABLE if one is of a different build. */
status_t floors_learn(const record_t *base, const record_t *runs, size_t n_runs, floors_t *floors,
                      error_t *err);
/* Learn those of groups from a comparison of two runs of one build: the far ends of their intervals, where
 * no comparison before had a farther one. */
void floors_add_groups(floors_t *floors, const comparison_t *comparison);
/* From a comparison of two interleaved runs of one build: the far end of each cell's interval. */
floors_t floors_of_pair(const comparison_t *comparison);
status_t floors_save(const floors_t *floors, const char *folder, error_t *err);
void floors_free(floors_t *floors);

/* May the runs be compared? If not, STATUS_INCOMPARABLE; the message says what differs and how to
 * allow it. Differences that `allow` permits are added to `allowed`. */
status_t guard_runs(const record_t *base, const record_t *candidate, const text_list_t *allow,
                    text_list_t *allowed, error_t *err);
/* NULL if times of both results may be compared in these phases, else the reason; the caller frees it. */
char *guard_pair(const case_result_t *base, const case_result_t *candidate,
                 const text_list_t *phases, const text_list_t *allow);
/* STATUS_USAGE for a name unknown to --allow. */
status_t guard_check_allow(const text_list_t *allow, error_t *err);

/* "a loop on the host takes 8.1 → 11.4 µs", where the host of one run was over a tenth slower. */
void add_host_speeds(text_list_t *to, const comparison_t *comparison);
/* Likely cause of a case's change: "code: registers 40 → 72", "same machine code; SM clock 1980 →
 * 1755 MHz". The caller frees it. */
char *cause_of_pair(const comparison_t *comparison, const case_result_t *base,
                    const case_result_t *candidate);

/* The phases of `asked` (empty: the default ones) that have times in `result`, and in `other`
 * unless NULL; the caller frees them. */
text_list_t comparison_common_phases(const case_result_t *result, const case_result_t *other,
                                     const text_list_t *asked);

/* Decide all cells and groups together. */
void comparison_decide(comparison_t *comparison, const floors_t *floors);

/* What a phase says, for stats_change(). */
stats_side_t phase_side(const phase_t *phase);

typedef struct comparison_options {
    const floors_t *floors;    /* NULL: none are known */
    const text_list_t *phases; /* to compare; NULL or empty: the default ones */
    const text_list_t *allow;  /* facts that may differ; NULL or empty: none */
    double threshold_frac;
} comparison_options_t;

status_t comparison_make(const record_t *base, const record_t *candidate,
                         const comparison_options_t *options, comparison_t *comparison,
                         error_t *err);
void comparison_free(comparison_t *comparison);

/* STATUS_FAILED, STATUS_OK, or with `strict` STATUS_NOISY if a case with times in BASE is
 * undecided, missing or not comparable. */
status_t comparison_status(const comparison_t *comparison, bool strict);

#endif
