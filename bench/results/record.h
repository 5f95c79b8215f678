/* A run's folder, results/<run>/: run.json (what, where, with what), cases.jsonl (one line a
 * finished case) and the files derived from them. docs/results-format.md is the contract. */
#ifndef BENCH_RESULTS_RECORD_H
#define BENCH_RESULTS_RECORD_H

#include "model/environment.h"
#include "model/result.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct sweep_text {
    char *path; /* as given on the command line, or "(command line)" */
    char *text; /* the sweep's JSON, verbatim */
} sweep_text_t;

typedef struct record {
    char *folder;             /* "results/h200" */
    char *name;               /* last part of the folder */
    char *started, *finished; /* ISO 8601; finished is NULL for an interrupted run */
    text_list_t argv;
    sweep_text_t *sweeps;
    size_t n_sweeps;
    uint64_t seed;
    environment_t environment;
    case_result_t *cases;
    size_t n_cases, cases_capacity;
    size_t n_dropped_lines; /* half-written last line of cases.jsonl: 0 or 1 */
} record_t;

/* Load a run: run.json, then cases.jsonl or cases.jsonl.gz. Later lines win over earlier ones with
 * the same id. A half-written last line is dropped and counted; any other bad line is an error with
 * its number. */
status_t record_load(const char *folder, record_t *run, error_t *err);
/* The same, for a reader that needs these phases only (NULL: all): others may be left out, unread.
 * A fraction of the time and memory. */
status_t record_load_phases(const char *folder, const text_list_t *phases, record_t *run,
                            error_t *err);
/* The schema number of a run's run.json, whatever else stands there. */
status_t record_read_schema(const char *folder, long long *schema, error_t *err);
void record_free(record_t *run);
/* The case of that id, or NULL. Only who owns the run may change it. */
/* The case after `after` (NULL: the first), in the order of the run; NULL at the end. */
const case_result_t *record_next(const record_t *run, const case_result_t *after);
case_result_t *record_find(const record_t *run, const char *id);

/* Cases by id, for runs with thousands of them. Borrows the run's cases: none may be added while it
 * lives. */
typedef struct record_index {
    const case_result_t **cases; /* sorted by id */
    size_t n;
} record_index_t;

record_index_t record_index_make(const record_t *run);
const case_result_t *record_index_find(const record_index_t *index, const char *id); /* or NULL */
void record_index_free(record_index_t *index);

/* run.json alone (written at the start of a run, and again at its end with `finished`). */
status_t record_write_header(const record_t *run, error_t *err);

/* Keep other runs out of the folder, which must exist: two would measure the same cases twice. The
 * lock goes when `*lock` is closed, or with the process. */
status_t record_lock(const char *folder, int *lock, error_t *err);

/* The journal: each append is one line and one flush to disk. */
typedef struct journal {
    FILE *file;
    char *path;
} journal_t;

status_t journal_open(const char *folder, journal_t *journal, error_t *err);
status_t journal_append(journal_t *journal, const case_result_t *result, error_t *err);
void journal_close(journal_t *journal);

/* Derived files: timings.csv (a row per case and phase; a case without times has one row with its
 * status), and the two study CSVs where the run has their cases. */
status_t results_write_derived(const record_t *run, error_t *err);

status_t results_write_timings_csv(const record_t *run, const char *path, error_t *err);
/* Is the case set up as the published study was: 4-5-1 in f32, cudaMalloc and pageable copies of
 * all arrays in every sample, plain launches? (The rung or mode is another question.) */
bool results_is_study_setup(const case_t *spec);

/* One of the study's CSVs, from the cases of `engine` ("cuda" or "pytorch") whose variant fits the
 * shell pattern `variant` ("01_*", "eager") and whose set-up is the study's: 4-5-1, f32, default
 * techniques. PyTorch's come from the GPU, or from the CPU where there are none. Without rows
 * nothing is written. */
status_t results_write_study_csv(const record_t *run, const char *path, const char *engine,
                                 const char *variant, error_t *err);

/* Join shards into the new or empty `folder` (bench merge). Refuses, as STATUS_INCOMPARABLE, shards
 * of different sweeps, seeds, software or kinds of machine, and a case that two shards have with
 * different results. */
status_t results_merge(const char *folder, const char *const *runs, size_t n_runs, error_t *err);

#endif
