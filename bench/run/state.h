/* The state of one `bench run`, and what its files have for each other. run.c is the sentence. */
#ifndef BENCH_RUN_STATE_H
#define BENCH_RUN_STATE_H

#include "compile/compile.h"
#include "limits/limits.h"
#include "measure/clock_lock.h"
#include "measure/contender.h"
#include "measure/progress.h"
#include "results/record.h"
#include "run/other_build.h"
#include "run/run.h"
#include "worker/pool.h"

#include <signal.h>

typedef struct run {
    const run_options_t *options;
    sweep_t *sweeps;
    size_t n_sweeps;
    record_t record; /* of run.json; with --resume its cases are those finished before */
    int folder_lock; /* -1: not held */
    journal_t journal;
    workers_t workers;
    char *arch;         /* of the GPU here, "sm_90"; NULL without one */
    const char *no_gpu; /* why there is none; owned by the worker link */
    bool gpu_broken;   /* … because its worker broke, and did not say that something is missing */
    char *no_compiler; /* why nothing can be compiled; NULL when it can */
    program_list_t programs;
    clock_lock_t clock_lock;
    nvml_t *nvml;
    contender_settings_t settings;
    device_rates_t rates;
    progress_t progress;
    size_t n_bad;          /* wrong or failed */
    sanitize_t *sanitized; /* of each program; NULL: not asked for */
    size_t n_sanitized;
    size_t n_unsound;  /* cases in whose program compute-sanitizer found something */
    uint32_t n_groups; /* so far: seeds the order of rounds */
    char *folder;
    struct run *against;       /* the other build's side of an --against run; NULL: none */
    build_t build;             /* of that side: which build; empty in ours */
    char *pair;                /* what both sides' run.json call the run; NULL without --against */
    run_options_t own_options; /* of that side: ours with changes */
    char *own_out;             /* of them */
    record_t *again;           /* in run_recheck(): what was measured before */
} run_t;

/* Cases that run together: they are compared with each other. */
typedef struct group {
    const workload_t *workload;
    const case_t *cases;
    size_t n;
    const measure_options_t *measure;
    const case_t *against; /* the same group in the other build: by turns with the one here */
    size_t n_against;
    const text_list_t *again; /* more visits for these ids; NULL: all that are not finished */
    unsigned n_visits;   /* to fresh processes, each of them a round of the results; 0: the workers
                            stay, and rounds are those of the schedule */
    int64_t deadline_ns; /* no more visits but a last one from then on; 0: none */
} group_t;

/* select.c */
status_t run_load_sweeps(run_t *run, error_t *err);

/* prepare.c */
/* Where the run's files go, and how many cases there are. */
void run_choose_folder(run_t *run);
status_t run_prepare_folder(run_t *run, error_t *err);
/* Start the CUDA worker if a case needs it, and learn what is here. No GPU is not an error. */
status_t run_survey(run_t *run, error_t *err);
/* Versions and devices of the workers that have started by now. */
void run_note_workers(run_t *run);
status_t run_close(run_t *run, error_t *err);

/* programs.c */
status_t run_compile(run_t *run, error_t *err);
/* The case's program, among those that were compiled; NULL in `*program` where it needs none. */
status_t run_find_program(run_t *run, const case_t *spec, const program_t **program, error_t *err);

/* group.c */
/* The next group of `sweep` from case `*at` on; moves `*at` behind it. */
group_t run_next_group(const sweep_t *sweep, size_t *at);
/* A contender for this case, not opened yet; one that cannot run here is not active and says why.
 */
status_t run_enter(run_t *run, const case_t *spec, contender_t *contender, error_t *err);
/* What the oracle computes for the group's cases: nothing where it has none. */
status_t run_ask_oracle(run_t *run, const group_t *group, reference_t *reference, error_t *err);
/* Why this case cannot run here, and what becomes of it: skipped, or failed. NULL where it can; the
 * caller frees it. */
char *run_drop_reason(const run_t *run, const case_t *spec, case_status_t *status);

/* sanitize.c */
status_t run_sanitize(run_t *run, const volatile sig_atomic_t *interrupted, error_t *err);
/* What was found in its program becomes part of the result. */
void run_note_sanitized(run_t *run, contender_t *contender);

/* measure.c */
status_t run_measure(run_t *run, const group_t *group, const volatile sig_atomic_t *interrupted,
                     error_t *err);
/* Measure the device itself first: copy bandwidth and clock floors. */
status_t run_calibrate(run_t *run, const volatile sig_atomic_t *interrupted, error_t *err);

/* ab.c */
/* Find the other build and its cases; nothing is written yet. */
status_t run_against_load(run_t *run, error_t *err);
/* Its folder, its workers, its programs. */
status_t run_against_prepare(run_t *run, error_t *err);
status_t run_against_close(run_t *run, error_t *err);
/* Compare the two sides and print what comes of it. */
status_t run_verdict(const run_t *run, error_t *err);

/* ab_identity.c */
/* What run.json says of a side of the run, and whether a run to be resumed is the same. */
void run_against_describe(run_t *run);
status_t run_against_check(const run_t *run, error_t *err);

/* ab_groups.c */
/* As run_next_group(), with the other build's cases, and then the groups that only that build has.
 * `*at` and `*there` begin at 0. False when there are no more. */
bool run_group_at(const run_t *run, size_t sweep, size_t *at, size_t *there, group_t *group);

/* ab_recheck.c */
/* Measure what is undecided again, up to options->recheck_limit_s. */
status_t run_recheck(run_t *run, const volatile sig_atomic_t *interrupted, error_t *err);

/* clocks.c */
/* Lock the clock if --lock-clocks asks for it. Fails where the GPU has no such clock, and where a
 * run would be gone on with at another clock than before. NVML must not be open yet. */
status_t run_lock_clocks(run_t *run, error_t *err);
/* Both sides of an --against run use one GPU, locked by ours: the other one takes note of it. */
status_t run_share_clocks(const run_t *run, run_t *other, error_t *err);
void run_free_clocks(run_t *run);

/* trace.c */
status_t run_trace(run_t *run, const volatile sig_atomic_t *interrupted, error_t *err);

/* summary.c */
/* The table of a workload that is measured; nothing where run_print() says it all. */
status_t run_print_workload(const run_t *run, const char *workload, error_t *err);
status_t run_print(const run_t *run, error_t *err);

#endif
