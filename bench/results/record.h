/* A run's folder, results/<run>/: run.json (sweeps and environment), cases.jsonl (a line per
 * finished pass of a case) and files derived from them. Format: docs/results-format.md. */
#ifndef BENCH_RESULTS_RECORD_H
#define BENCH_RESULTS_RECORD_H

#include "base/error.h"
#include "base/hash.h"
#include "model/environment.h"
#include "model/result.h"
#include "stats/spent.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct study;

/* Called for each workload of a run that is loaded, so that its cases can be understood; set by main. `file` is for
 * messages. */
extern status_t (*record_on_described)(const char *file, const json_t *description, error_t *err);

typedef struct sweep_text {
    char *path;            /* as given on the command line, or "(command line)" */
    char *text;            /* the sweep's JSON, verbatim */
    unsigned passes;       /* that finish a case, at most; 0: unknown, of an older version */
    unsigned least_passes; /* at least; `passes`: exactly those */
    double interval_frac;  /* asked where the number is open: measure_options_t; NaN: it is not */
} sweep_text_t;

typedef struct record {
    int schema;               /* as read */
    char *folder;             /* "results/h200" */
    char *name;               /* last part of the folder */
    char *started, *finished; /* ISO 8601; finished is NULL for an interrupted run */
    text_list_t argv;
    sweep_text_t *sweeps;
    size_t n_sweeps;
    text_list_t left_out; /* engines that options left out of the sweeps */
    char *shard;          /* "3/8"; NULL: all cases, a merged run, or an older version */
    uint64_t seed;
    json_t *operators;            /* descriptions by name; NULL: none */
    json_t *digest;               /* of run.json: see record_seal(); NULL: unsealed */
    char lines_digest[HASH_TEXT]; /* of the lines as loaded or written */
    text_list_t algorithmic;      /* ids of the cases that declared it when they were measured */
    bool knows_algorithmic;       /* false: of an older version */
    environment_t environment;
    environment_t *passes; /* facts of each pass: "pass", "started", "cores.cuda", … */
    size_t n_passes;
    case_result_t *cases;
    size_t n_cases, cases_capacity;
    case_result_t **by_id;  /* record_sorted(); NULL: the passes are not joined */
    size_t n_dropped_lines; /* incomplete last line of cases.jsonl: 0 or 1 */
} record_t;

/* Load run.json, then cases.jsonl.gz and cases.jsonl, and join the passes of each case. Later lines
 * replace earlier ones with the same id and pass. An incomplete last line is dropped and counted; any
 * other bad line is an error with its number. Lines that do not fit together, or to run.json, are refused. */
status_t record_load(const char *folder, record_t *run, error_t *err);
/* The same, with a result per pass of a case. */
status_t record_load_passes(const char *folder, record_t *run, error_t *err);
/* The schema number in run.json; other keys are ignored. */
status_t record_read_schema(const char *folder, long long *schema, error_t *err);
void record_free(record_t *run);
typedef struct record_list {
    record_t *items;
    size_t n;
} record_list_t;

/* Several; what is incomplete is said on stderr. The list, of zeros, is to be freed after a failure, too. */
status_t records_load(const char *const *folders, size_t n, record_list_t *runs, error_t *err);
void records_free(record_list_t *runs);
/* The case after `after` (NULL: the first), in the order of the run; NULL at the end. */
const case_result_t *record_next(const record_t *run, const case_result_t *after);
/* The case of that id, or NULL. Only the owner of the run may change it. */
case_result_t *record_find(const record_t *run, const char *id);
/* `; did you mean "id"?` of one of the cases, or empty; the caller frees it. */
char *record_hint(const record_t *run, const char *id);
/* In a run whose passes are not joined: the result of the same case, pass and draw, or NULL. */
case_result_t *record_find_same(const record_t *run, const case_result_t *like);
/* Was a pass measured on this machine? An unknown (NULL) host or GPU is any. */
bool record_pass_is_on(const environment_t *facts, const char *host, const char *gpu);
/* The facts of a pass on a machine, which are added if there are none. */
environment_t *record_pass(record_t *run, unsigned pass, const char *host, const char *gpu);
unsigned record_pass_number(const environment_t *facts);

/* How fast the host was in a pass: a short loop's time, copies within its memory (cores_host_speed()). */
#define RECORD_HOST_LOOP "host_loop_ns"
#define RECORD_HOST_COPY "host_copy_bytes_per_s"
/* The median of a number over the passes that have it; NaN if none does. */
double record_pass_median(const record_t *run, const char *key);

/* What the time of a pass was spent on, in its facts ("spent_s.samples"); and of all passes of a run. */
void record_set_spent(environment_t *facts, const spent_t *spent);
spent_t record_pass_spent(const environment_t *facts);
spent_t record_spent(const record_t *run);

/* Path of the first sweep of `other` whose text is not among the sweeps of `first`; NULL if there is
 * none. */
const char *record_other_sweep(const record_t *first, const record_t *other);

/* Report on stderr that loading the run dropped a half-written line. */
void record_warn_dropped(const record_t *run);
/* The same, that the run was not finished, and that its lines were edited. For commands that only read runs. */
void record_warn_incomplete(const record_t *run);

/* Write run.json: at the start of a run, and at its end with `finished`. */
status_t record_write_header(const record_t *run, error_t *err);

/* Fail if `path`, which a user wants written, is one of the files that hold a run's results. */
status_t record_refuse_own_file(const char *path, error_t *err);
/* Fail if `path` is a file that does not begin with `begin`: somebody else's. It may be missing or
 * empty. */
status_t record_refuse_other_file(const char *path, const char *begin, error_t *err);

/* cases.jsonl: each append writes one line and flushes it to disk. */
typedef struct journal {
    FILE *file;
    char *path;
    hash_t *lines; /* of those that there were, and those that were appended */
    hash_t *hash;  /* of the lines written; NULL: not asked for */
} journal_t;

/* Repairs an incomplete last line. */
status_t journal_open(const char *folder, journal_t *journal, error_t *err);
/* Remove the lines of these passes: bit p - 1 for pass p. */
status_t journal_drop_passes(const char *folder, uint64_t passes, error_t *err);
status_t journal_append(journal_t *journal, const case_result_t *result, error_t *err);
/* Write the lines of a folder that has none; they are on the disk at the end, not one by one. `digest` gets theirs. */
status_t journal_write(const char *folder, const case_result_t *results, size_t n,
                       char digest[HASH_TEXT], error_t *err);
/* STATUS_FAILED if the file has other lines than those: another program changed it. To be called once, before
 * journal_close(). */
status_t journal_check(journal_t *journal, error_t *err);
void journal_close(journal_t *journal);

/* Write timings.csv (a row per case and phase; one row for a case without times), and the logs of the study that a
 * workload reproduces (study_csv.h; NULL: none). */
status_t results_write_derived(const record_t *run, const struct study *study, error_t *err);
status_t results_write_timings_csv(const record_t *run, const char *path, error_t *err);

/* A run's folder is written by one process at a time, also if several machines share it. */

/* Zero-initialise it: not held. */
typedef struct run_lock {
    char *path, *text; /* <folder>/run.lock, and what it says: who writes, where and since when */
    int folder;        /* has a flock(), which ends with the process */
} run_lock_t;

/* Lock the folder, which must exist. STATUS_USAGE if another process writes there. What a process left
 * is taken over: one that ended on this machine, and an earlier start of the same Slurm task on any. */
status_t run_lock(const char *folder, run_lock_t *lock, error_t *err);
void run_unlock(run_lock_t *lock);

/* ---- for the files of results/ ------------------------------------------------------------------- */

#define HEADER "run.json"
#define JOURNAL "cases.jsonl"
#define JOURNAL_GZIP "cases.jsonl.gz"
#define JOURNAL_MOST                                                                               \
    ((size_t)4 << 30) /* bytes; a sweep of thousands of cases has a tenth of a GiB */

/* Read <folder>/run.json into an empty record. */
status_t record_read_header(const char *folder, record_t *run, error_t *err);
/* Order of lines by id and pass, or by id and draw without a pass. 0: the later replaces the earlier. */
int record_compare_keys(const case_result_t *a, const case_result_t *b);
/* All, in this order, then in that of the run; the caller frees the list. */
case_result_t **record_sorted(const record_t *run);
/* Join the passes of each case, at the place of its first. */
void record_join_passes(record_t *run);

/* What a run's files were when it was closed: digests in its run.json (XXH3-128), which tell later edits. They are no
 * signature: who edits a file can compute another digest. */

typedef enum seal {
    SEAL_NONE,   /* run.json has no digest: the run is older, or was not closed */
    SEAL_WHOLE,  /* the lines are those that the run was closed with */
    SEAL_BROKEN, /* they are not, or were not when the run was resumed or merged */
} seal_t;

/* By the lines as they were loaded. */
seal_t record_seal(const record_t *run);

/* Digest the lines of `joined`, which is the run as it was read, and may be `run`, and the derived tables in the run's
 * folder. The header is not written. */
void record_close(record_t *run, const record_t *joined);
/* Lines will be added: forget the digests, but not that lines were edited. */
void record_reopen(record_t *run);

/* Note in the header that a case is algorithmic, before its line is written: is that new? */
bool record_declare(record_t *run, const case_result_t *result);
/* The same of all cases that the run has. */
void record_declare_all(record_t *run);

/* Note the charts of these names, which were drawn into the folder `charts`, in the run.json of a closed run. */
status_t record_note_charts(const char *folder, const char *charts, const text_list_t *names,
                            error_t *err);

/* Is it one of these, and as it was drawn? `charts` is the folder that it is in. */
bool record_has_chart(const record_t *run, const char *charts, const char *file);

/* What is not as it was: "cases.jsonl", "timings.csv", "plots/h200/size.svg", each with what is wrong. `charts` is the
 * folder of the run's charts, which may be missing. */
text_list_t record_edits(const record_t *run, const char *charts);

/* Shards as they become one run, for `bench merge`: from several processes or identical nodes. */

/* Zero-initialise it; merge_free() empties it. */
typedef struct merge {
    record_t run;        /* passes not joined */
    text_list_t folders; /* of the shards */
    size_t *starts;      /* of each: its first case in the run */
    text_list_t shards;  /* "3/8" of each; "" if it does not say */
} merge_t;

/* Add a shard. STATUS_INCOMPARABLE if its sweeps, software or kind of machine differ. */
status_t merge_add(merge_t *merge, const char *folder, error_t *err);
/* After the last shard. STATUS_INCOMPARABLE if two have different results of a case. */
status_t merge_drop_repeated(merge_t *merge, error_t *err);
/* Sort the cases like these ids, each case's passes in the order of the shards. Calibrations come first. */
void merge_sort(merge_t *merge, const text_list_t *ids);
/* Write the run into `folder`; its passes are joined then. `study`: see results_write_derived(). */
status_t merge_write(merge_t *merge, const char *folder, const struct study *study, error_t *err);
void merge_free(merge_t *merge);

#endif
