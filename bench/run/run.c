#include "run/state.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Set by the first Ctrl-C; a second one ends the program at once. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

static void catch_interrupts(void) {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static bool is_last_of_workload(const run_t *run, size_t sweep) {
    for (size_t s = sweep + 1; s < run->n_sweeps; s++)
        if (run->sweeps[s].workload == run->sweeps[sweep].workload)
            return false;
    return true;
}

static status_t measure_all(run_t *run, error_t *err) {
    TRY(run_calibrate(run, &interrupted, err));
    for (size_t s = 0; s < run->n_sweeps; s++) {
        group_t group;
        size_t at = 0, there = 0;
        while (!interrupted && run_group_at(run, s, &at, &there, &group))
            TRY(run_measure(run, &group, &interrupted, err));
        if (is_last_of_workload(run, s))
            TRY(run_print_workload(run, run->sweeps[s].workload->name, err));
    }
    return run->against != NULL ? run_recheck(run, &interrupted, err) : STATUS_OK;
}

/* A full disk, most likely: nothing that is finished is lost by it. */
static status_t say_how_to_go_on(const run_t *state, error_t *err) {
    error_t cause = *err;
    error_clear(err);
    return error_set(err, cause.status,
                     "%.1500s; finished cases are kept: make room, and go on with the same command "
                     "and --resume --out %s",
                     cause.text, state->folder);
}

static status_t run_steps(run_t *state, error_t *err) {
    if (state->options->trace)
        return run_trace(state, &interrupted, err);
    bool two = state->options->against != NULL;
    TRY(run_load_sweeps(state, err));
    if (two)
        TRY(run_against_load(state, err));
    TRY(run_prepare_folder(state, err));
    TRY(run_survey(state, err));
    TRY(run_compile(state, err));
    TRY(record_write_header(&state->record,
                            err)); /* tables that are printed on the way name the GPU */
    if (two)
        TRY(run_against_prepare(state, err));
    TRY(run_sanitize(state, &interrupted, err));
    status_t status = measure_all(state, err);
    if (status == STATUS_OK)
        status = run_close(state, err);
    if (status == STATUS_OK && two)
        status = run_against_close(state, err);
    if (status != STATUS_OK)
        return say_how_to_go_on(state, err);
    if (two && interrupted)
        return STATUS_OK; /* half a run has no verdict */
    return two ? run_verdict(state, err) : run_print(state, err);
}

static void run_against_free(run_t *run);

static void run_free(run_t *run) {
    for (size_t i = 0; i < run->n_sweeps; i++)
        sweep_free(&run->sweeps[i]);
    free(run->sweeps);
    record_free(&run->record);
    journal_close(&run->journal);
    if (run->folder_lock >= 0)
        close(run->folder_lock);
    workers_free(&run->workers);
    run_against_free(run);
    for (size_t i = 0; i < run->n_sanitized; i++)
        sanitize_free(&run->sanitized[i]);
    free(run->sanitized);
    program_list_free(&run->programs);
    nvml_close(run->nvml);
    free(run->arch);
    free(run->no_compiler);
    free(run->folder);
}

static void run_against_free(run_t *run) {
    run_t *other = run->against;
    free(run->pair);
    if (other == NULL)
        return;
    run_free(other);
    build_free(&other->build);
    free(other->own_out);
    free(other);
}

status_t run(const run_options_t *options, error_t *err) {
    run_t state = {.options = options, .folder_lock = -1, .rates = DEVICE_RATES_UNKNOWN};
    catch_interrupts();
    status_t status = run_steps(&state, err);
    run_free_clocks(&state);
    if (status == STATUS_OK && interrupted && options->trace)
        status = error_set(err, STATUS_FAILED, "interrupted; what was traced is in %s/trace.json",
                           state.folder);
    else if (status == STATUS_OK && interrupted)
        status = error_set(err, STATUS_FAILED,
                           "interrupted; finished cases are in %s: go on with the same command and "
                           "--resume --out %s",
                           state.folder, state.folder);
    else if (status == STATUS_OK && state.n_bad > 0)
        status = error_set(err, STATUS_FAILED, "%zu of %zu cases were wrong or failed (in %s)",
                           state.n_bad, state.progress.done, state.folder);
    else if (status == STATUS_OK && state.n_unsound > 0)
        status = error_set(err, STATUS_FAILED,
                           "compute-sanitizer found errors in the programs of %zu of %zu cases (in "
                           "%s/logs)",
                           state.n_unsound, state.progress.done, state.folder);
    run_free(&state);
    return status;
}

static void print_plan(run_t *state) {
    FILE *out = state->options->print;
    size_t n = 0, skipped = 0;
    for (size_t s = 0; s < state->n_sweeps; s++) {
        const sweep_t *sweep = &state->sweeps[s];
        for (size_t i = 0; i < sweep->n_cases; i++, n++) {
            case_status_t fate;
            char *reason = run_drop_reason(state, &sweep->cases[i], &fate);
            const char *what = reason == NULL ? "run" : fate == CASE_FAILED ? "fail" : "skip";
            fprintf(out, "%-8s %s%s%s\n", what, sweep->cases[i].id, reason != NULL ? "  — " : "",
                    reason != NULL ? reason : "");
            skipped += reason != NULL;
            free(reason);
        }
    }
    fprintf(out, "%zu cases: %zu to run, %zu to skip\n", n, n - skipped, skipped);
}

status_t plan(const run_options_t *options, error_t *err) {
    run_t state = {.options = options, .folder_lock = -1, .rates = DEVICE_RATES_UNKNOWN};
    status_t status = run_load_sweeps(&state, err);
    if (status == STATUS_OK)
        status = run_survey(&state, err);
    if (status == STATUS_OK)
        print_plan(&state);
    run_free(&state);
    return status;
}
