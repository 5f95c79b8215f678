/* Two runs put side by side: what their cases became. Made by comparison_make(), printed by
 * print_table.c, print_json.c and print_junit.c. */
#ifndef BENCH_COMPARE_COMPARISON_H
#define BENCH_COMPARE_COMPARISON_H

#include "base/arena.h"
#include "compare/decision.h"
#include "results/record.h"

/* From the worst to the best: the order of tables. */
typedef enum pair_verdict {
    PAIR_BROKEN,       /* wrong or failed in CANDIDATE, and not in BASE */
    PAIR_REGRESSED,    /* a phase is slower */
    PAIR_UNDECIDED,    /* no phase is slower for sure, and one may be */
    PAIR_MISSING,      /* has times in BASE, and is not in CANDIDATE or was skipped there */
    PAIR_INCOMPARABLE, /* has no times in either, is throttled, or is another case by the same id */
    PAIR_IMPROVED,     /* a phase is faster, and none slower */
    PAIR_NEW,          /* has times in CANDIDATE only */
    PAIR_UNCHANGED,
    PAIR_VERDICTS
} pair_verdict_t;

const char *pair_verdict_name(pair_verdict_t verdict); /* "regressed", …, "not comparable" */

/* A phase of a case that has times on both sides. */
typedef struct cell {
    const phase_t *base, *candidate;
    gate_cell_t gate;
} cell_t;

/* A case of either run. */
typedef struct pair {
    const char *id;
    const case_result_t *base, *candidate; /* NULL where that run has none */
    pair_verdict_t verdict;
    const char *reason; /* why there are no cells; NULL where there are */
    const char *cause;  /* of a change: what is known of it; NULL without a change */
    cell_t *cells;
    size_t n_cells;
} pair_t;

typedef struct comparison {
    const record_t *base, *candidate;
    double threshold_frac;
    bool paired;         /* the runs were measured in turns */
    size_t n_floor_runs; /* that floors were learnt from, BASE included; 0: no floors */
    text_list_t allowed; /* "driver: 580.1 in BASE, 590.2 in CANDIDATE" */
    text_list_t changes; /* what else is different about the runs */
    pair_t *pairs;       /* by verdict, then by size of the change */
    size_t n_pairs;
    size_t counts[PAIR_VERDICTS];
    size_t n_cells;
    arena_t texts; /* reasons and causes */
} comparison_t;

/* Which noise floors are known: of a cell, by its case's id and its phase. */
typedef struct floors floors_t;

/* Read the folder's floor.json; NULL in `*floors` where there is none. */
status_t floors_load(const char *folder, floors_t **floors, error_t *err);
/* Learn from further runs of BASE's build: STATUS_INCOMPARABLE where one is not. */
status_t floors_learn(const record_t *base, const record_t *runs, size_t n_runs, floors_t **floors,
                      error_t *err);
/* What the two runs of one build, measured in turns, teach: of each cell that was compared, the far
 * end of its interval. */
floors_t *floors_of_twins(const comparison_t *comparison);
status_t floors_save(const floors_t *floors, const char *folder, error_t *err);
void floors_free(floors_t *floors);
/* 0 where it is not known. */
double floors_of(const floors_t *floors, const char *id, const char *phase);
size_t floors_runs(const floors_t *floors);

/* May the runs be compared at all? STATUS_INCOMPARABLE says what differs and how to allow it. What
 * was allowed, and did differ, is added to `allowed`. */
status_t guard_runs(const record_t *base, const record_t *candidate, const text_list_t *allow,
                    text_list_t *allowed, error_t *err);
/* Is it the same case on both sides? If not, the reason; the caller frees it. */
char *guard_pair(const case_result_t *base, const case_result_t *candidate,
                 const text_list_t *allow);
/* STATUS_USAGE for a name that --allow does not know. */
status_t guard_check_allow(const text_list_t *allow, error_t *err);

/* Facts of the runs that differ, for people: "git.revision: a → b". */
void cause_of_runs(const record_t *base, const record_t *candidate, text_list_t *changes);
/* What may have made a case slower or faster: "code: registers 40 → 72", "same machine code; SM
 * clock 1980 → 1755 MHz". The caller frees it. */
char *cause_of_pair(const comparison_t *comparison, const case_result_t *base,
                    const case_result_t *candidate);

/* Whose samples are needed to compare what the user asked for (none: the usual ones). False: all.
 */
bool comparison_phases(const text_list_t *asked, text_list_t *needed);

/* The phases of one case that are compared when the user asked for `asked`; the caller frees them.
 */
text_list_t comparison_default_phases(const case_result_t *result, const text_list_t *asked);

/* Where the samples of a phase lie, for stats_change(). */
stats_location_t phase_locate(const phase_t *phase, const stats_draws_t *draws,
                              stats_pairing_t *pairing);

/* `phases` are what the user asked for (none: the usual ones). */
status_t comparison_make(const record_t *base, const record_t *candidate, const floors_t *floors,
                         const text_list_t *phases, const text_list_t *allow, double threshold_frac,
                         comparison_t *comparison, error_t *err);
void comparison_free(comparison_t *comparison);

/* "regressed: 2 of 50 cases", …: the verdict as a whole, in one line without its end; the caller
 * frees it. */
char *comparison_headline(const comparison_t *comparison);
/* STATUS_FAILED, STATUS_OK, or with `strict` STATUS_NOISY where a case that BASE has times of is
 * undecided, missing or not comparable. */
status_t comparison_status(const comparison_t *comparison, bool strict);

void compare_print_table(const comparison_t *comparison, bool all, FILE *out);
/* Two runs of one build: what each cell differs by, and the noise floor that this makes. */
void compare_print_floors(const comparison_t *comparison, const floors_t *floors, FILE *out);
void compare_print_markdown(const comparison_t *comparison, FILE *out);
void compare_print_junit(const comparison_t *comparison, FILE *out);
void compare_print_json(const comparison_t *comparison, FILE *out);

#endif
