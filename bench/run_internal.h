/* The state of one `bench run`, shared by run.c (the sentence), run_setup.c (folder and
 * surroundings), run_group.c (one group of contenders), run_trace.c (tracing instead of measuring)
 * run_clocks.c (the clock's lock) and run_print.c (the answer). */
#ifndef BENCH_RUN_INTERNAL_H
#define BENCH_RUN_INTERNAL_H

#include "progress.h"
#include "run.h"
#include "steps/compile.h"
#include "steps/contender.h"
#include "steps/judge.h"
#include "steps/lock_clocks.h"
#include "steps/results.h"
#include "steps/workers.h"

#include <signal.h>

typedef struct run_state {
    const run_options_t *options;
    sweep_t *sweeps;
    size_t n_sweeps;
    run_record_t record; /* of run.json; with --resume its cases are those finished before */
    journal_t journal;
    workers_t workers;
    char *arch;         /* of the GPU here, "sm_90"; NULL without one */
    const char *no_gpu; /* why there is none; owned by the worker link */
    char *no_compiler;  /* why nothing can be compiled; NULL when it can */
    program_list_t programs;
    clock_lock_t lock;
    nvml_t *nvml;
    contender_settings_t settings;
    device_rates_t rates;
    progress_t progress;
    size_t n_bad;      /* wrong or failed */
    uint32_t n_groups; /* so far: seeds the order of rounds */
    char *folder;
} run_state_t;

/* Cases that run together: they are compared with each other. */
typedef struct group {
    const workload_t *workload;
    const case_t *cases;
    size_t n;
    const measure_options_t *measure;
} group_t;

/* run_setup.c */
status_t run_load_sweeps(run_state_t *run, error_t *err);
/* Where the run's files go, and how many cases there are. */
void run_choose_folder(run_state_t *run);
status_t run_prepare_folder(run_state_t *run, error_t *err);
/* Start the CUDA worker if a case needs it, and learn what is here. No GPU is not an error. */
status_t run_survey(run_state_t *run, error_t *err);
status_t run_compile(run_state_t *run, error_t *err);
/* Versions and devices of the workers that have started by now. */
void run_note_workers(run_state_t *run);
status_t run_close(run_state_t *run, error_t *err);
void run_free_state(run_state_t *run);

/* run_group.c */
/* The next group of `sweep` from case `*at` on; moves `*at` behind it. */
group_t run_next_group(const sweep_t *sweep, size_t *at);
/* Measure the device itself first: copy bandwidth and clock floors. */
status_t run_calibrate(run_state_t *run, const volatile sig_atomic_t *interrupted, error_t *err);
status_t run_measure(run_state_t *run, const group_t *group,
                     const volatile sig_atomic_t *interrupted, error_t *err);
/* A contender for this case, not opened yet; one that cannot run here is not live and says why. */
status_t run_enter(run_state_t *run, const case_t *spec, contender_t *contender, error_t *err);
/* Why this case cannot run here, or NULL; the caller frees it. */
char *run_skip_reason(const run_state_t *run, const case_t *spec);

/* run_clocks.c */
/* Lock the clock if --lock-clocks asks for it. Fails where the GPU has no such clock, and where a
 * run would be gone on with at another clock than before. NVML must not be open yet. */
status_t run_lock_clocks(run_state_t *run, error_t *err);
void run_free_clocks(run_state_t *run);

/* run_trace.c */
status_t run_trace(run_state_t *run, const volatile sig_atomic_t *interrupted, error_t *err);

/* run_print.c */
status_t run_print(const run_state_t *run, error_t *err);

#endif
