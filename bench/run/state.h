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
    const volatile sig_atomic_t *interrupted; /* set by Ctrl-C */
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
    const build_t *build; /* whose side of an --against run this is; NULL: this program's */
    const char *pair;     /* what both sides' run.json call the run; NULL without --against */
} run_t;

/* Cases that run together: they are compared with each other. */
typedef struct group {
    const workload_t *workload;
    const case_t *cases;
    size_t n;
    const measure_options_t *measure;
} group_t;

/* state.c */
run_t run_make(const run_options_t *options, const volatile sig_atomic_t *interrupted);
void run_free(run_t *run);
/* Add to an error (a full disk, most likely) that nothing which is finished is lost by it. */
status_t run_say_how_to_resume(const run_t *run, error_t *err);

/* select.c */
status_t run_load_sweeps(run_t *run, error_t *err);
/* The next group of `sweep` from case `*at` on; moves `*at` behind it. */
group_t run_next_group(const sweep_t *sweep, size_t *at);

/* prepare.c */
/* Where the run's files go, and how many cases there are. */
void run_choose_folder(run_t *run);
status_t run_prepare_folder(run_t *run, error_t *err);
/* Start the CUDA worker if a case needs it, and learn what is here. No GPU is not an error. */
status_t run_survey(run_t *run, error_t *err);
/* Why this case cannot run here, and what becomes of it: skipped, or failed. NULL where it can; the
 * caller frees it. */
char *run_drop_reason(const run_t *run, const case_t *spec, case_status_t *status);
/* Versions and devices of the workers that have started by now. */
void run_note_workers(run_t *run);
status_t run_close(run_t *run, error_t *err);

/* programs.c */
status_t run_compile(run_t *run, error_t *err);
/* The case's program, among those that were compiled; NULL in `*program` where it needs none. */
status_t run_find_program(run_t *run, const case_t *spec, const program_t **program, error_t *err);

/* sanitize.c */
status_t run_sanitize(run_t *run, error_t *err);
/* What was found in its program becomes part of the result. */
void run_note_sanitized(run_t *run, contender_t *contender);

/* measure.c */
/* Every group of every sweep, with the table of a workload behind its last one. */
status_t run_measure_all(run_t *run, error_t *err);
status_t run_measure(run_t *run, const group_t *group, error_t *err);

/* calibrate.c */
/* Measure the device itself first: copy bandwidth and clock floors. */
status_t run_calibrate(run_t *run, error_t *err);

/* clocks.c */
/* Lock the clock if --lock-clocks asks for it. Fails where the GPU has no such clock, and where a
 * run would be gone on with at another clock than before. NVML must not be open yet. */
status_t run_lock_clocks(run_t *run, error_t *err);
/* Both sides of an --against run use one GPU, locked by ours: the other one takes note of it. */
status_t run_share_clocks(const run_t *run, run_t *other, error_t *err);
void run_free_clocks(run_t *run);

/* trace.c */
status_t run_trace(run_t *run, error_t *err);

/* summary.c */
/* The table of a workload that is measured; nothing where run_print() says it all. */
status_t run_print_workload(const run_t *run, const char *workload, error_t *err);
status_t run_print(const run_t *run, error_t *err);

#endif
