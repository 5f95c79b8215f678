/* The state of one `bench run` and the functions shared by its files. run.c lists the steps. */
#ifndef BENCH_RUN_STATE_H
#define BENCH_RUN_STATE_H

#include "base/error.h"
#include "compile/compile.h"
#include "limits/limits.h"
#include "measure/contender.h"
#include "measure/machine.h"
#include "measure/progress.h"
#include "results/record.h"
#include "run/options.h"
#include "worker/pool.h"

#include <signal.h>
#include <stdbool.h>

/* Another build of this project, for `bench run --against`: its program, its project folder (with
 * its kernels and Python code) and its source revision. */

typedef struct build {
    bool self;                /* this program */
    char *root, *bench;       /* absolute paths: project folder, program */
    char *version, *revision; /* from its --version */
    bool dirty;
} build_t;

/* `given`: "self", a project folder that contains build/bench, or the path of a bench in one. Runs
 * its --version and says hello to its worker: STATUS_USAGE if it is no build of this project or its
 * worker speaks another protocol. */
status_t build_find(const char *given, const char *own_root, build_t *build, error_t *err);
void build_free(build_t *build);

/* What is known of a case while it is measured, pass after pass. */
typedef struct case_state {
    uint64_t finished;                        /* bit p - 1: pass p is in the journal */
    unsigned left;                            /* it has passes enough after this one; 0: not yet */
    bool may_lead;                            /* it may be the fastest of a comparison */
    stats_pass_t compared[STATS_MOST_PASSES]; /* of each pass: the phase that it is compared by */
    stats_pass_t stopped[STOPPING_PHASES][STATS_MOST_PASSES]; /* … those that end a pass */
    bool dropped; /* skipped or broken in a pass: not measured again */
    bool broken, unsound;
    bool untuned;   /* no tuning compiler makes its code */
    uint32_t drawn; /* bit d - 1: draw d is in the journal */
    unsigned draw;  /* the fastest so far; 0: none */
    double draw_ns;
    double compile_ns; /* of the first draw that was right */
} case_state_t;

/* Note the result of a draw, or of a pass. */
void case_note(case_state_t *state, const case_result_t *result);

/* Is this pass for others only? */
static inline bool case_has_left(const case_state_t *state, unsigned pass) {
    return state->left > 0 && pass > state->left;
}

/* Are all passes up to this one in the journal? */
static inline bool case_has_passes(const case_state_t *state, unsigned n_passes) {
    const uint64_t all = ~0ULL >> (64 - n_passes);
    return (state->finished & all) == all;
}

/* Does nothing remain to be measured in at most `n_passes` passes? */
static inline bool case_is_complete(const case_state_t *state, unsigned n_passes) {
    return state->dropped || case_has_passes(state, state->left > 0 ? state->left : n_passes);
}

/* The reference outputs of a group. Those of refilled inputs are of a pass: with the same seed in each, what a case writes in
 * one could be replayed in the next. */
typedef struct kept_reference {
    char *group;
    reference_t reference; /* of the inputs that cases are opened with; for all passes */
    unsigned pass;
    uint64_t seed; /* of the inputs that cases are refilled with, see audit_t, and what follows */
    reference_t refilled; /* of those */
} kept_reference_t;

enum { N_CALIBRATIONS = 6 };

typedef struct run {
    const run_options_t *options;
    const volatile sig_atomic_t *interrupted; /* set by Ctrl-C */
    sweep_t *sweeps;
    case_state_t **states;   /* of each sweep's cases */
    size_t n_sharded_groups; /* of all shards together; 0 without --shard */
    size_t n_sweeps;
    case_state_t calibrations[N_CALIBRATIONS];
    kept_reference_t *references;
    size_t n_references;
    record_t record;    /* of run.json; with --resume it holds the passes finished earlier */
    environment_t here; /* this machine and its software; record.environment is the first's */
    bool resumed;       /* the folder holds a run */
    run_lock_t folder_lock;
    journal_t journal;
    char *journal_changed; /* why its lines are not those of this run; NULL: they are */
    isolation_t isolation; /* of --isolate */
    guard_t guard;         /* of an --against run: that of our side, for both */
    text_list_t spared;    /* children from before this run */
    workers_t workers;
    char *arch;         /* of the GPU, "sm_90"; NULL without one */
    char *gpu_uuid;     /* as in settings */
    const char *no_gpu; /* why there is none; owned by the worker link */
    bool gpu_broken;    /* no_gpu is a worker failure, not a missing device or driver */
    char *no_compiler;  /* why nothing can be compiled; NULL if it can */
    program_list_t programs;
    program_list_t refill; /* the program that fills inputs of described workloads on the device */
    clock_lock_t clock_lock;
    nvml_t *nvml;
    contender_settings_t settings;
    cores_t cores;
    device_rates_t rates;
    progress_t progress;
    sanitize_t *sanitized; /* per program; NULL without --sanitize */
    size_t n_sanitized;
    text_list_t said;  /* by run_print_so_far() */
    uint32_t n_groups; /* so far; seeds the order of rounds */
    bool has_measured; /* in the running processes */
    int64_t began_ns;
    spent_t spent;     /* since the last pass ended */
    char *out_of_time; /* why no further pass was begun, with --budget; else NULL */
    char *folder;
    char *real_folder; /* the same, absolute and without links */
    char *compiled; /* <folder>/compiled: what a tuning compiler made, until the run is finished */
    const build_t *build; /* the other build's side of an --against run; NULL: this program */
    const char *pair;     /* id of an --against run in both run.json; NULL without --against */
} run_t;

/* Cases that are measured together and compared with each other. */
typedef struct group {
    const workload_t *workload;
    const case_t *cases;
    case_state_t *states; /* of the cases */
    size_t n;
    unsigned turn; /* case_turn() */
    const measure_options_t *measure;
} group_t;

/* state.c */
run_t run_make(const run_options_t *options, const volatile sig_atomic_t *interrupted);
void run_free(run_t *run);
void run_free_sweeps(run_t *run);
void run_free_states(run_t *run);
/* Add to an error (most likely a full disk) how to resume the run. */
status_t run_add_resume_hint(const run_t *run, error_t *err);

/* The facts of the current pass on this machine, which are added if there are none. */
environment_t *run_pass_facts(run_t *run);
/* Record that the current pass is measured on this machine. */
status_t run_note_pass(run_t *run, error_t *err);

/* select.c */
status_t run_load_sweeps(run_t *run, error_t *err);
/* The cases that the commands of run->record measured, all shards together. */
status_t run_load_record_sweeps(run_t *run, error_t *err);
/* "3/8", which the caller frees; NULL: all cases. */
char *run_shard(const run_t *run);
/* Append the engines that options leave out. */
void run_left_out(const run_options_t *options, text_list_t *engines);
/* The group of sweep `s` that starts at case `*at`; moves `*at` past it. */
group_t run_next_group(const run_t *run, size_t s, size_t *at);
/* All cases of all sweeps, in their order: for (run_case_t at = {0}; run_next_case(run, &at);) */
typedef struct run_case {
    const sweep_t *sweep;
    const case_t *spec;
    case_state_t *state; /* NULL: the run has none yet */
    size_t s, next;
} run_case_t;
bool run_next_case(const run_t *run, run_case_t *at);
/* Allocate the states, with what run->record has as finished. */
void run_make_states(run_t *run);
/* Is this result from before --resume measured again, as --retry asks? */
bool run_is_retried(const run_t *run, const case_result_t *before);
/* After this pass: where the number of passes is open, have the cases leave that have enough (docs/measuring.md). */
void run_let_leave(run_t *run, unsigned pass);
/* Of all cases, those of the calibration too. */
typedef struct case_counts {
    size_t known, broken, unsound;
} case_counts_t;
case_counts_t run_count(const run_t *run);
/* The most passes of any sweep, and the most that any takes in any case. */
unsigned run_passes(const run_t *run);
unsigned run_least_passes(const run_t *run);
/* "6", "5 to 12"; the caller frees it. */
char *run_passes_text(const run_t *run);
/* One walk over the cases, not passes? */
bool run_walks_once(const run_t *run);
/* Is the device measured, too? Not if nothing would use the rates. */
bool run_calibrates(const run_t *run);
/* Before each pass: tell the progress of cases whose number of passes is open. False: nobody takes the pass. */
bool run_expect_pass(run_t *run, unsigned pass);
/* A case that uses a GPU, or NULL; of engine cuda if possible, because its worker starts fast. */
const case_t *run_find_gpu_case(const run_t *run);
/* Has it cases of our own kernels on a GPU? */
bool run_has_rungs(const run_t *run);

/* prepare.c */
/* Set the run's folder and start the progress line. */
void run_choose_folder(run_t *run);
/* Lock the folder, and describe the run and this machine; to resume, check that they fit together. */
status_t run_prepare_folder(run_t *run, error_t *err);
/* After the survey and the compilation: only from here on the folder's files are changed. */
status_t run_begin(run_t *run, error_t *err);
/* Start the CUDA worker if a case needs it, and describe the device. No GPU is not an error. */
status_t run_survey(run_t *run, error_t *err);
/* Has the run workers of our own Python engines, which may be forked (worker/pool.h)? Not where whole processes are timed,
 * watched from outside, or compared with those of a build that may not fork. */
bool run_may_fork(const run_t *run);
/* … and are they? */
bool run_forks(const run_t *run);
/* Begin the imports that the first workers wait for. */
void run_begin_imports(run_t *run);
/* Tell who looks on that other programs load the machine now. */
void run_note_load(run_t *run);
/* Why this case cannot run, with status skipped or failed; NULL if it can. The caller frees it. */
char *run_drop_reason(const run_t *run, const case_t *spec, case_status_t *status);
/* Record versions and devices of the workers started so far. */
void run_note_workers(run_t *run);
status_t run_close(run_t *run, error_t *err);

/* select.c: --resume */
/* Load the run that the folder holds. STATUS_USAGE or STATUS_INCOMPARABLE if this command measures
 * something else. */
status_t run_resume(run_t *run, error_t *err);
/* Start the workers of the cases that are left, as only running they tell their versions. One that cannot
 * start is reported when its cases are measured. False if no cases are left. */
bool run_start_left(run_t *run);
/* As run_resume(), once workers and compilers are known. Then passes that another machine began and none
 * finished start anew. */
status_t run_resume_here(run_t *run, bool are_left, error_t *err);

/* programs.c */
status_t run_compile(run_t *run, error_t *err);
/* A case of engine cuda without parameters; the caller completes it. */
case_t run_calibration_case(const char *workload, const char *variant);
/* `*program` is NULL for a case that needs none. */
status_t run_find_program(run_t *run, const case_t *spec, const program_t **program, error_t *err);

/* programs.c: compute-sanitizer */
status_t run_sanitize(run_t *run, error_t *err);
/* Copy the verdicts on its program into the result. True if one is a finding. */
bool run_note_sanitized(const run_t *run, contender_t *contender);

/* trial.c: one group of contenders in the current pass */
/* Start those that do not run, all at once. */
void run_start_links(run_t *run, worker_link_t **links, size_t n);
status_t run_measure(run_t *run, const group_t *group, error_t *err);

/* passes.c */
/* Pass after pass, measure all groups of all sweeps; print the table of a workload after its last
 * group. */
status_t run_measure_all(run_t *run, error_t *err);
/* Begin a pass with new processes. A process keeps what chance gave it, such as
 * where its memory lies, which no number of rounds in it shows (Mytkowicz et al. 2009, Producing wrong
 * data without doing anything obviously wrong!). */
void run_start_pass(run_t *run, unsigned pass);
/* Record the end of the current pass. */
status_t run_end_pass(run_t *run, error_t *err);

/* With --quick and --budget, once its time is over: why no other case is opened. The caller frees it. */
char *run_no_time_left(const run_t *run);

/* passes.c: draws */
/* Compile, anew for each draw, what a tuning compiler compiles, and find the fastest. */
status_t run_draw(run_t *run, error_t *err);

/* compilations.c */
/* The first draw is compiled by one process after another: how long a compilation takes is said of it. The others, up to
 * number `most`, of what took long are compiled here before they are measured. */
void run_compile_draws(run_t *run, unsigned most);
/* How long that takes at most, in seconds: as long as the first draw for each, since they tune one at a time. */
double run_draws_compile_s(run_t *run, unsigned most);
/* Before workers start: with --quick those of a group compile side by side. */
void run_let_tune_in_turns(const run_t *run);

/* passes.c: calibration */
/* Measure the device itself, in every pass: copy and L2 bandwidth, matrix products, barrier, launch
 * and event times. */
status_t run_calibrate(run_t *run, error_t *err);

/* Record on the other side of an --against run the lock that `run` holds on the shared GPU. */
status_t run_share_clocks(const run_t *run, run_t *other, error_t *err);
void run_free_clocks(run_t *run);

/* trace.c */
status_t run_trace(run_t *run, error_t *err);

/* summary.c */
/* The table of a finished workload (NULL: of all); nothing if run_print() prints single cases. */
status_t run_print_workload(const run_t *run, const char *workload, error_t *err);
/* With --quick, after a group: who leads so far, on stderr, where that is new. */
status_t run_print_so_far(run_t *run, const sweep_t *sweep, error_t *err);
status_t run_print(const run_t *run, error_t *err);

/* The contenders of a group in one pass, each with its run: with --against there are two. */

typedef struct trial {
    run_t *run; /* its oracle, seed and rates apply to all */
    const group_t *group;
    char *name; /* of the group */
    contender_t *contenders;
    run_t **sides;         /* the run of each contender */
    case_state_t **states; /* of each contender's case */
    size_t n;
    made_inputs_t made;    /* for all contenders and the oracle */
    made_reader_t audited; /* keeps those of audits */
    contender_t *verifier; /* the oracle while it is open for verify(); else NULL */
} trial_t;

/* The oracle of a group: float64 on the CPU, or `noop` for the null workload. False when there is none. */
bool run_oracle_of(const group_t *group, case_t *oracle);
/* Inputs of this case that a function makes; the caller frees them. */
status_t run_make_inputs(run_t *run, const case_t *spec, made_inputs_t *made, error_t *err);

/* That of case `i` of a group, which the caller frees: isolated, it has the same worker in all passes, also if
 * others of the group are done, as what it compiled is there. */
char *trial_role(const run_t *run, size_t i);

/* Make a contender, not opened yet. One that cannot run is inactive and its result says why. Those
 * with equal roles share a worker process for each engine. */
status_t trial_contender(run_t *run, const case_t *spec, const char *role, contender_t *contender,
                         error_t *err);

/* Room for `most` contenders. */
trial_t trial_make(run_t *run, const group_t *group, size_t most);
/* Case `i` of the group, to be measured for `side`. */
status_t trial_add(trial_t *trial, run_t *side, const group_t *group, size_t i, error_t *err);
/* Is there nothing to measure in this pass: was it finished before --resume, or the case dropped? */
bool case_is_done(const run_t *side, const case_state_t *state);
/* Open all, in reverse order if `backward`; verify, take rounds in turns, verify again, write the
 * results. */
status_t trial_measure(trial_t *trial, bool backward, error_t *err);
void trial_free(trial_t *trial);

/* compilations.c */
/* With --quick: compile what the group has compiled before it is opened. */
void trial_compile(trial_t *trial);

#endif
