/* `bench run --resume`: only the same cases, measured by the same program on the same kind of machine,
 * are added to a run. */
#include "run/state.h"

#include "base/memory.h"
#include "results/conditions.h"
#include "results/digest.h"
#include "sweep/sweep.h"

#include <stdlib.h>
#include <string.h>

/* ---- is it the same run? --------------------------------------------------------------------- */

static status_t check_option(const run_t *run, const char *option, bool before, bool now,
                             error_t *err) {
    const char *with = before ? "with" : "without";
    if (before == now)
        return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "%s was measured %s %s: resume it %s it, or choose another --out", run->folder,
                     with, option, with);
}

static status_t check_options(const run_t *run, error_t *err) {
    const environment_t *env = &run->record.environment;
    const char *mode = environment_get(env, "measure.mode");
    const char *pair = environment_get(env, "measure.pair");
    const char *processes = environment_get(env, "measure.processes");
    if (mode != NULL && strcmp(mode, "steady") != 0)
        return error_set(
            err, STATUS_USAGE,
            "%s: measure.mode is \"%s\", expected \"steady\": an older bench measured it, "
            "choose another --out",
            run->folder, mode);
    TRY(check_option(run, "--quick", environment_get(env, "measure.quick") != NULL,
                     run->options->quick, err));
    TRY(check_option(run, "--devices", environment_get(env, "measure.devices") != NULL,
                     run->options->devices != NULL, err));
    TRY(check_option(run, "--isolate", environment_get(env, "measure.isolate") != NULL,
                     run->options->isolate, err));
    const bool was_forked = processes != NULL && strcmp(processes, "forked") == 0;
    if (run_may_fork(run))
        TRY(check_option(run, "--processes fresh", !was_forked, !run_forks(run), err));
    TRY(check_option(run, "--against", pair != NULL, run->pair != NULL, err));
    if (run->build != NULL && strcmp(pair, run->pair) != 0)
        return error_set(err, STATUS_USAGE,
                         "%s and its parent folder belong to different runs: measure.pair is %s, "
                         "expected %s",
                         run->folder, pair, run->pair);
    return STATUS_OK;
}

static status_t refuse_sweep(const run_t *run, const char *path, const char *what, error_t *err) {
    text_list_t paths = {0};
    for (size_t i = 0; i < run->record.n_sweeps; i++)
        text_list_add(&paths, run->record.sweeps[i].path);
    char *list = text_list_join(&paths, ", ");
    error_set(
        err, STATUS_INCOMPARABLE,
        "%s cannot be resumed: sweeps: found %s, which %s; expected the unchanged %s: give the "
        "same sweeps, or choose another --out",
        run->folder, path, what, list);
    free(list);
    text_list_free(&paths);
    return STATUS_INCOMPARABLE;
}

static status_t check_sweeps(const run_t *run, error_t *err) {
    record_t now = {.sweeps = mem_zeroed(run->n_sweeps + 1, sizeof *now.sweeps),
                    .n_sweeps = run->n_sweeps};
    for (size_t i = 0; i < run->n_sweeps; i++)
        now.sweeps[i] = (sweep_text_t){.path = run->sweeps[i].path, .text = run->sweeps[i].text};
    const char *added = record_other_sweep(&run->record, &now);
    const char *missing = record_other_sweep(&now, &run->record);
    free(now.sweeps);
    if (added != NULL)
        return refuse_sweep(run, added, "was not measured there, or has changed", err);
    return missing == NULL ? STATUS_OK
                           : refuse_sweep(run, "no sweep with the text of one", "is missing", err);
}

static status_t refuse_kind(const run_t *run, const char *key, const char *found, error_t *err) {
    if (text_starts(key, "operators."))
        return error_set(err, STATUS_INCOMPARABLE,
                         "%s cannot be resumed: the files of %s have changed since: restore them "
                         "(operator.json, .py, .cu), or choose another --out",
                         run->folder, key + strlen("operators."));
    return error_set(err, STATUS_INCOMPARABLE,
                     "%s cannot be resumed: %s: found '%s', expected '%s': continue with the same "
                     "program and software on a machine of the same kind, or choose another --out",
                     run->folder, key, found, environment_get(&run->record.environment, key));
}

static status_t check_kind(const run_t *run, error_t *err) {
    run_differences_t list = conditions_broken(&run->record.environment, &run->here, RESUMED);
    status_t status = STATUS_OK;
    if (list.n > 0)
        status = refuse_kind(run, list.items[0].key, list.items[0].other, err);
    conditions_free(&list);
    return status;
}

static status_t check_shard(const run_t *run, error_t *err) {
    static const char ALL[] = "all cases";
    const char *before = run->record.shard != NULL ? run->record.shard : ALL;
    char *shard = run_shard(run);
    const char *now = shard != NULL ? shard : ALL;
    status_t status = STATUS_OK;
    if (strcmp(before, now) != 0)
        status = error_set(err, STATUS_INCOMPARABLE,
                           "%s cannot be resumed: shard: found %s, expected %s: give the same "
                           "--shard, or choose another --out",
                           run->folder, now, before);
    free(shard);
    return status;
}

status_t run_resume(run_t *run, error_t *err) {
    TRY(record_load_passes(run->folder, &run->record, err));
    if (run->record.schema != RESULT_SCHEMA)
        return error_set(err, STATUS_USAGE,
                         "%s has schema %d, from an older version: results of schema %d cannot be "
                         "added to it; choose another --out",
                         run->folder, run->record.schema, RESULT_SCHEMA);
    TRY(check_options(run, err));
    TRY(check_sweeps(run, err));
    TRY(check_shard(run, err));
    return check_kind(run, err);
}

/* ---- on this machine --------------------------------------------------------------------------- */

bool run_start_left(run_t *run) {
    bool are_left = false;
    worker_link_t **links = NULL;
    size_t n = 0;
    run_make_states(run);
    for (size_t s = 0; s < run->n_sweeps; s++)
        for (size_t i = 0; i < run->sweeps[s].n_cases; i++) {
            const case_t *spec = &run->sweeps[s].cases[i];
            worker_link_t *link;
            error_t ignored = ERROR_INIT;
            if (case_is_complete(&run->states[s][i], run->sweeps[s].measure.passes))
                continue;
            are_left = true;
            if (!case_engine_is_built_in(spec->engine) &&
                workers_find(&run->workers, spec, workers_asked_role(&run->workers), &link,
                             &ignored) == STATUS_OK)
                worker_links_add(&links, &n, link);
        }
    worker_links_start(links, n, run->options->timeout_s);
    free(links);
    run_free_states(run);
    return are_left;
}

static status_t check_gpu(const run_t *run, error_t *err) {
    const bool lost = environment_get(&run->record.environment, "gpu.name") != NULL &&
                      environment_get(&run->here, "gpu.name") == NULL &&
                      run_find_gpu_case(run) != NULL;
    return lost ? refuse_kind(run, "gpu.name", "no GPU", err) : STATUS_OK;
}

/* Passes that were begun elsewhere, and that no machine finished: bit p - 1 for pass p. */
static uint64_t abandoned_passes(const run_t *run) {
    uint64_t elsewhere = 0, finished = 0;
    for (size_t i = 0; i < run->record.n_passes; i++) {
        const environment_t *facts = &run->record.passes[i];
        const uint64_t bit = 1ULL << ((record_pass_number(facts) - 1) % STATS_MOST_PASSES);
        if (environment_get(facts, "finished") != NULL)
            finished |= bit;
        else if (!record_pass_is_on(facts, environment_get(&run->here, "host.name"),
                                    environment_get(&run->here, "gpu.uuid")))
            elsewhere |= bit;
    }
    return elsewhere & ~finished;
}

static bool is_in(unsigned pass, uint64_t passes) {
    return pass > 0 && (passes >> (pass - 1) & 1) != 0;
}

/* So that all cases of a pass come from one machine. */
static status_t drop_passes(run_t *run, uint64_t passes, error_t *err) {
    record_t *record = &run->record;
    size_t n_cases = 0, n_passes = 0;
    for (size_t i = 0; i < record->n_cases; i++)
        if (is_in(record->cases[i].pass, passes))
            result_free(&record->cases[i]);
        else
            record->cases[n_cases++] = record->cases[i];
    for (size_t i = 0; i < record->n_passes; i++)
        if (is_in(record_pass_number(&record->passes[i]), passes)) {
            progress_note(&run->progress, "pass %u was begun on %s: it starts anew here",
                          record_pass_number(&record->passes[i]),
                          environment_get(&record->passes[i], "host"));
            environment_free(&record->passes[i]);
        } else {
            record->passes[n_passes++] = record->passes[i];
        }
    record->n_cases = n_cases;
    record->n_passes = n_passes;
    return journal_drop_passes(run->folder, passes, err);
}

/* Cases that --retry tries again. */
static void tell_bad(run_t *run) {
    size_t n_failed = 0, n_skipped = 0;
    for (size_t i = 0; i < run->record.n_cases; i++) {
        const case_result_t *before = &run->record.cases[i];
        n_failed += before->status == CASE_FAILED && !result_is_draw(before);
        n_skipped += before->status == CASE_SKIPPED && !result_is_draw(before);
    }
    if (n_failed + n_skipped > 0)
        progress_note(&run->progress, "%zu failed and %zu skipped cases are %s", n_failed,
                      n_skipped,
                      run->options->retry ? "tried again" : "kept: --retry tries them again");
}

status_t run_resume_here(run_t *run, bool are_left, error_t *err) {
    if (are_left)
        TRY(check_gpu(run, err));
    TRY(check_kind(run, err));
    if (run->record.n_dropped_lines > 0 && !run->options->quiet)
        record_tell_dropped(&run->record);
    if (record_seal(&run->record) == SEAL_BROKEN)
        progress_note(&run->progress, "lines were edited after the run was closed");
    record_reopen(&run->record);
    const uint64_t passes = abandoned_passes(run);
    if (passes != 0) {
        TRY(record_write_header(&run->record, err)); /* its digest is that of other lines */
        TRY(drop_passes(run, passes, err));
    }
    tell_bad(run);
    free(run->record.finished);
    run->record.finished = NULL;
    return STATUS_OK;
}
