#include "run/state.h"

#include "analysis/contenders.h"
#include "analysis/speedup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "io/folders.h"
#include "io/fs.h"
#include "io/subprocess.h"
#include "version.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== another build =========================================================================== */

enum { TIMEOUT_S = 30, WORD_BYTES = 128 };

void build_free(build_t *build) {
    free(build->root);
    free(build->bench);
    free(build->version);
    free(build->revision);
    *build = (build_t){0};
}

/* The nearest data folder above the program, or what was installed with it. */
static char *root_above(const char *program) {
    AUTO_FREE char *path = mem_text(program);
    char *root = NULL, *slash;
    while (root == NULL && (slash = strrchr(path, '/')) != NULL && slash != path) {
        *slash = '\0';
        root = folders_data_at(path);
    }
    return root != NULL ? root : folders_data_with(program);
}

static status_t find_self(const char *own_root, build_t *build, error_t *err) {
    TRY(fs_executable(&build->bench, err));
    build->self = true;
    build->root = mem_text(own_root);
    build->version = mem_text(BENCH_VERSION);
    build->revision = mem_text(BENCH_REVISION);
    build->dirty = BENCH_DIRTY;
    return STATUS_OK;
}

static status_t find_files(const char *given, build_t *build, error_t *err) {
    bool folder = fs_is_folder(given);
    AUTO_FREE char *path = folder ? fs_join(given, "build/bench") : mem_text(given);
    build->bench = realpath(path, NULL);
    if (build->bench == NULL)
        return error_set(err, STATUS_USAGE, "%s does not exist%s", path,
                         folder ? ": build it first (make)" : "");
    build->root = folder ? folders_data_at(given) : root_above(build->bench);
    if (build->root != NULL)
        return STATUS_OK;
    return error_set(err, STATUS_USAGE, "%s: no project folder with kernels/ and sweeps/ found",
                     given);
}

/* "bench 0.1.0 (0123456789ab, modified)" */
static status_t ask_version(build_t *build, error_t *err) {
    const char *const argv[] = {build->bench, "--version", NULL};
    AUTO(subprocess_result_free) subprocess_result_t result = {0};
    TRY(subprocess_run(argv, NULL, TIMEOUT_S, &result, err));
    char version[WORD_BYTES], revision[WORD_BYTES], rest[WORD_BYTES] = "";
    int n = sscanf(result.out, "bench %127s (%127[^,)]%127[^\n]", version, revision, rest);
    if (result.exit_code != 0 || n < 2) {
        result.out[strcspn(result.out, "\n")] = '\0';
        return error_set(err, STATUS_USAGE,
                         "%s --version: found \"%.100s\" (exit code %d), expected a bench of "
                         "this project",
                         build->bench, result.out, result.exit_code);
    }
    build->version = mem_text(version);
    build->revision = mem_text(revision);
    build->dirty = strstr(rest, "modified") != NULL;
    return STATUS_OK;
}

/* Check the protocol with the null engine, which needs no hardware. */
static status_t check_worker(const build_t *build, error_t *err) {
    text_list_t argv = {0};
    AUTO(worker_link_free) worker_link_t link;
    build_worker_argv(build->root, build->bench, &argv);
    text_list_add_words(&argv, "worker", "--engine=null", NULL);
    worker_link_init(&link, "null", argv);
    error_t why = ERROR_INIT;
    return worker_link_start(&link, TIMEOUT_S, &why) == STATUS_OK
               ? STATUS_OK
               : error_set(err, STATUS_USAGE, "%s has no compatible worker: %s", build->bench,
                           why.text);
}

static bool is_this_program(const char *program) {
    AUTO_FREE char *own = NULL;
    return fs_executable(&own, NULL) == STATUS_OK && strcmp(own, program) == 0;
}

status_t build_find(const char *given, const char *own_root, build_t *build, error_t *err) {
    *build = (build_t){0};
    if (strcmp(given, "self") == 0)
        return find_self(own_root, build, err);
    status_t status = find_files(given, build, err);
    if (status == STATUS_OK)
        status = ask_version(build, err);
    if (status == STATUS_OK)
        status = check_worker(build, err);
    if (status != STATUS_OK) {
        build_free(build);
        return error_within(err, "--against");
    }
    build->self = is_this_program(build->bench) && strcmp(build->root, own_root) == 0;
    return STATUS_OK;
}

/* ==== the state =============================================================================== */

run_t run_make(const run_options_t *options, const volatile sig_atomic_t *interrupted) {
    return (run_t){.options = options,
                   .interrupted = interrupted,
                   .began_ns = clock_ns(),
                   .rates = DEVICE_RATES_UNKNOWN};
}

static void note_draw(case_state_t *state, const case_result_t *draw) {
    const phase_t *compared = result_has_times(draw) ? compared_phase(draw) : NULL;
    const double ns = compared != NULL ? compared->summary.median : (double)NAN;
    state->drawn |= 1U << (draw->draw - 1);
    if (isfinite(ns) && state->draw == 0)
        state->compile_ns = result_once(draw, "compile");
    if (isfinite(ns) && (state->draw == 0 || ns < state->draw_ns)) {
        state->draw = draw->draw;
        state->draw_ns = ns;
    }
}

/* Of a result of one pass. */
static stats_pass_t pass_of(const phase_t *phase) {
    return phase != NULL && phase->n_passes > 0 ? phase_pass(phase, 0)
                                                : (stats_pass_t){.log_value = NAN};
}

void case_note(case_state_t *state, const case_result_t *result) {
    if (result_is_draw(result))
        return note_draw(state, result);
    const size_t at = result->pass - 1;
    const bool has_times = result_has_times(result);
    state->broken |= result_is_broken(result);
    state->dropped |= !has_times;
    state->finished |= 1ULL << at;
    state->may_lead = can_be_fastest(result);
    state->compared[at] = pass_of(has_times ? compared_phase(result) : NULL);
    for (size_t i = 0; i < STOPPING_PHASES; i++)
        state->stopped[i][at] = pass_of(has_times ? stopping_phase(result, i) : NULL);
}

void run_free_states(run_t *run) {
    for (size_t i = 0; run->states != NULL && i < run->n_sweeps; i++)
        free(run->states[i]);
    free(run->states);
    run->states = NULL;
}

void run_free_sweeps(run_t *run) {
    run_free_states(run);
    for (size_t i = 0; i < run->n_sweeps; i++)
        sweep_free(&run->sweeps[i]);
    free(run->sweeps);
    run->sweeps = NULL;
    run->n_sweeps = 0;
}

void run_free(run_t *run) {
    progress_free(&run->progress);
    run_free_sweeps(run);
    record_free(&run->record);
    text_list_free(&run->said);
    environment_free(&run->here);
    journal_close(&run->journal);
    run_unlock(&run->folder_lock);
    workers_free(&run->workers);
    walls_free(&run->isolation.walls);
    free(run->isolation.hidden);
    bindings_free(&run->guard.own);
    for (size_t i = 0; i < run->n_sanitized; i++)
        sanitize_free(&run->sanitized[i]);
    free(run->sanitized);
    for (size_t i = 0; i < run->n_references; i++) {
        reference_free(&run->references[i].reference);
        reference_free(&run->references[i].refilled);
        free(run->references[i].group);
    }
    free(run->references);
    program_list_free(&run->programs);
    program_list_free(&run->refill);
    nvml_close(run->nvml);
    free(run->arch);
    free(run->gpu_uuid);
    free(run->no_compiler);
    free(run->folder);
    free(run->real_folder);
    free(run->journal_changed);
    free(run->compiled);
    free(run->out_of_time);
}

environment_t *run_pass_facts(run_t *run) {
    return record_pass(&run->record, run->settings.pass, environment_get(&run->here, "host.name"),
                       environment_get(&run->here, "gpu.uuid"));
}

status_t run_note_pass(run_t *run, error_t *err) {
    char now[32];
    environment_t *facts = run_pass_facts(run);
    if (environment_get(facts, "started") != NULL)
        return STATUS_OK;
    environment_set(facts, "started", clock_timestamp(now));
    environment_set(facts, "host", environment_get(&run->here, "host.name"));
    environment_set(facts, "gpu", environment_get(&run->here, "gpu.uuid"));
    /* Before its first line: a resumed run must know where it was measured. */
    return record_write_header(&run->record, err);
}

status_t run_add_resume_hint(const run_t *run, error_t *err) {
    error_t cause = *err;
    error_clear(err);
    return error_set(err, cause.status,
                     "%.1500s; finished cases are kept: free some disk space, then resume with the "
                     "same command and --resume --out %s",
                     cause.text, run->folder);
}

static bool uses_ours(const sweep_t *sweep) {
    for (size_t i = 0; i < sweep->n_cases; i++)
        if (forks_know(sweep->cases[i].engine))
            return true;
    return sweep->workload->pytorch_oracle != NULL &&
           (sweep->workload->c_oracle == NULL ||
            made_inputs_exist(sweep->workload->name, MADE_BY_FUNCTION));
}

bool run_may_fork(const run_t *run) {
    const run_options_t *options = run->options;
    bool any = false;
    for (size_t s = 0; s < run->n_sweeps; s++)
        any |= uses_ours(&run->sweeps[s]);
    return any && !options->profile && !options->trace && !options->isolate &&
           options->against == NULL && run->build == NULL;
}

bool run_forks(const run_t *run) {
    return run->options->processes != PROCESSES_FRESH && run_may_fork(run);
}

char *run_no_time_left(const run_t *run) {
    const run_options_t *options = run->options;
    const double spent_s = (double)(clock_ns() - run->began_ns) / 1e9;
    if (!options->quick || options->budget_s == 0 || spent_s <= options->budget_s)
        return NULL;
    return mem_format("no time was left: --budget %.3gs", options->budget_s);
}

/* ---- the oracle ------------------------------------------------------------------------------ */

bool run_oracle_of(const group_t *group, case_t *oracle) {
    const workload_t *workload = group->workload;
    const char *engine, *variant;
    if (workload->c_oracle != NULL) {
        engine = "cpu";
        variant = workload->c_oracle;
    } else if (workload->pytorch_oracle != NULL) {
        engine = "pytorch";
        variant = workload->pytorch_oracle;
    } else if (workload->null_variants != NULL && strcmp(group->cases[0].engine, "null") == 0) {
        engine = "null";
        variant = workload->null_variants[0];
    } else {
        return false;
    }
    *oracle = case_copy(&group->cases[0]);
    case_drop_techniques(oracle);
    mem_set_text(&oracle->engine, engine);
    mem_set_text(&oracle->device, "cpu");
    mem_set_text(&oracle->variant, variant);
    return true;
}

/* What a function of reference.py makes, its process does: also beside a reference in C. */
static void take_maker(case_t *oracle) {
    const workload_t *workload = workload_find(oracle->workload);
    if (workload->c_oracle == NULL || !made_inputs_exist(oracle->workload, MADE_BY_FUNCTION))
        return;
    mem_set_text(&oracle->engine, "pytorch");
    mem_set_text(&oracle->variant, workload->pytorch_oracle);
}

status_t run_make_inputs(run_t *run, const case_t *spec, made_inputs_t *made, error_t *err) {
    const group_t group = {
        .workload = workload_find(spec->workload), .cases = (case_t *)spec, .n = 1};
    AUTO(case_free) case_t oracle = {0};
    worker_link_t *worker;
    *made = (made_inputs_t){0};
    if (!made_inputs_exist(spec->workload, MADE_ALL) || !run_oracle_of(&group, &oracle))
        return STATUS_OK;
    take_maker(&oracle);
    TRY(workers_find(&run->workers, &oracle, ORACLE, &worker, err));
    return made_inputs_open(&oracle, worker, run->settings.seed, run->settings.timeout_s, made,
                            err);
}
