#include "run/run.h"

#include "run/against/ab.h"
#include "run/devices/devices.h"

#include "base/memory.h"
#include "io/subprocess.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* Set by the first Ctrl-C; a second one ends the program at once. */
static volatile sig_atomic_t interrupted;
static volatile sig_atomic_t budget_ended; /* then interrupted, too */

static void on_interrupt(int signal_number) {
    budget_ended = signal_number == SIGALRM;
    interrupted = 1;
}

static void catch_interrupts(void) {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    static const int SIGNALS[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
    for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; i++) {
        struct sigaction before;
        sigaction(SIGNALS[i], NULL, &before);
        if (SIGNALS[i] != SIGHUP || before.sa_handler != SIG_IGN) /* else it is for nohup */
            sigaction(SIGNALS[i], &action, NULL);
    }
    sigaction(SIGALRM, &action, NULL);
}

static status_t measure(run_t *run, error_t *err) {
    TRY(run_draw(run, err));
    if (run->out_of_time == NULL)
        TRY(run_measure_all(run, err));
    return run_close(run, err);
}

static status_t steps(run_t *run, error_t *err) {
    /* A command that outlasts the time of a lent machine loses what it measured. */
    if (!run->options->quick)
        alarm((unsigned)ceil(run->options->budget_s)); /* 0: never */
    TRY(run_load_sweeps(run, err));
    run_note_load(run);
    TRY(cores_init(&run->cores, run->options->cpus, err));
    TRY(run_prepare_folder(run, err));
    TRY(run_survey(run, err));
    run_begin_imports(run);
    spent_switch(&run->spent, SPENT_COMPILE);
    TRY(run_compile(run, err));
    spent_switch(&run->spent, SPENT_OTHER);
    TRY(run_begin(run, err));
    TRY(run_sanitize(run, err));
    return measure(run, err) == STATUS_OK ? run_print(run, err) : run_add_resume_hint(run, err);
}

/* Broken or unsound cases fail the run. */
static status_t verdict(const run_t *run, error_t *err) {
    const case_counts_t n = run_count(run);
    if (run->journal_changed != NULL)
        return error_set(err, STATUS_FAILED, "%s", run->journal_changed);
    if (n.broken > 0)
        return error_set(err, STATUS_FAILED, "%zu of %zu cases were wrong or failed (in %s)",
                         n.broken, n.known, run->folder);
    if (n.unsound > 0)
        return error_set(err, STATUS_FAILED,
                         "compute-sanitizer found errors in the programs of %zu of %zu cases (in "
                         "%s/logs)",
                         n.unsound, n.known, run->folder);
    return STATUS_OK;
}

status_t run(const run_options_t *options, error_t *err) {
    run_t state = run_make(options, &interrupted);
    catch_interrupts();
    worker_links_heed(&interrupted);
    state.spared = orphans_adopt();
    spent_switch(&state.spent, SPENT_OTHER);
    const bool on_devices = options->devices != NULL && !options->is_one_device;
    status_t status = options->trace             ? run_trace(&state, err)
                      : options->against != NULL ? run_against(&state, err)
                      : on_devices               ? run_on_devices(&state, err)
                                                 : steps(&state, err);
    run_free_clocks(&state);
    if (status == STATUS_OK && interrupted && options->trace)
        status = error_set(err, STATUS_FAILED,
                           "interrupted; the traces so far are in %s/trace.json", state.folder);
    else if (status == STATUS_OK && interrupted)
        status = error_set(err, STATUS_FAILED,
                           "%s; finished cases are in %s: resume with the same command and "
                           "--resume --out %s",
                           budget_ended ? "the time of --budget ended within a pass or draw"
                                        : "interrupted",
                           state.folder, state.folder);
    else if (status == STATUS_OK && state.out_of_time != NULL)
        status = error_set(err, STATUS_FAILED,
                           "%s; finished passes are in %s: continue with the same command and "
                           "--resume --out %s",
                           state.out_of_time, state.folder, state.folder);
    else if (status == STATUS_OK)
        status = verdict(&state, err);
    run_free(&state);
    orphans_kill(&state.spared);
    return status;
}

status_t run_check(const run_options_t *options, error_t *err) {
    AUTO(run_free) run_t state = run_make(options, &interrupted);
    TRY(run_load_sweeps(&state, err));
    if (state.n_sharded_groups >= options->shard.n)
        return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "%u shards: found groups of cases to compare with each other: %zu; one "
                     "shard measures a group, so expected at most as many shards",
                     options->shard.n, state.n_sharded_groups);
}

static void print_plan(run_t *state) {
    FILE *out = state->options->print;
    size_t n = 0, skipped = 0;
    for (run_case_t at = {0}; run_next_case(state, &at); n++) {
        case_status_t status;
        AUTO_FREE char *reason = run_drop_reason(state, at.spec, &status);
        if (reason == NULL && strcmp(at.spec->device, "cuda") == 0 &&
            workload_engine_uses_cuda(at.spec->engine))
            reason = mem_text(state->no_gpu); /* its worker would decline */
        const char *action = reason == NULL ? "run" : status == CASE_FAILED ? "fail" : "skip";
        fprintf(out, "%-8s %s%s%s\n", action, at.spec->id, reason != NULL ? "  — " : "",
                reason != NULL ? reason : "");
        skipped += reason != NULL;
    }
    AUTO_FREE char *passes = run_passes_text(state);
    fprintf(out, "%zu cases in %s pass%s: %zu to run, %zu to skip\n", n, passes,
            run_passes(state) == 1 ? "" : "es", n - skipped, skipped);
}

status_t plan(const run_options_t *options, error_t *err) {
    AUTO(run_free) run_t state = run_make(options, &interrupted);
    TRY(run_load_sweeps(&state, err));
    TRY(run_survey(&state, err));
    print_plan(&state);
    return STATUS_OK;
}
