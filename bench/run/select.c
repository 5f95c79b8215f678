/* Select cases: those of the sweeps, minus what options and shards exclude. */
#include "base/memory.h"
#include "io/fs.h"
#include "results/conditions.h"
#include "results/record.h"
#include "run/state.h"
#include "sweep/sweep.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* ==== cases =================================================================================== */

enum { QUICK_TIME_LIMIT_S = 1, QUICK_PASSES = 1 };

static bool is_not_engine(const sweep_t *sweep, const case_t *spec, const void *engine) {
    (void)sweep;
    return strcmp(spec->engine, engine) != 0;
}

static group_t next_group(const sweep_t *sweep, bool quick, size_t *at) {
    group_t group = {.workload = sweep->workload,
                     .cases = &sweep->cases[*at],
                     .measure = &sweep->measure,
                     .turn = case_turn(&sweep->cases[*at], quick)};
    AUTO_FREE char *first = workload_group(sweep->workload, &sweep->cases[*at]);
    bool same = true;
    while (same) {
        group.n++;
        if (++*at == sweep->n_cases)
            break;
        AUTO_FREE char *next = workload_group(sweep->workload, &sweep->cases[*at]);
        same = strcmp(first, next) == 0 && case_turn(&sweep->cases[*at], quick) == group.turn;
    }
    return group;
}

bool run_next_case(const run_t *run, run_case_t *at) {
    for (; at->s < run->n_sweeps && at->next == run->sweeps[at->s].n_cases; at->s++)
        at->next = 0;
    if (at->s == run->n_sweeps)
        return false;
    at->sweep = &run->sweeps[at->s];
    at->spec = &at->sweep->cases[at->next];
    at->state = run->states != NULL ? &run->states[at->s][at->next] : NULL;
    at->next++;
    return true;
}

group_t run_next_group(const run_t *run, size_t s, size_t *at) {
    const size_t first = *at;
    group_t group = next_group(&run->sweeps[s], run->options->quick, at);
    group.states = &run->states[s][first];
    return group;
}

static int compare_ids(const void *a, const void *b) {
    return strcmp(a, b);
}

static void keep_string(void *id) {
    (void)id;
}

static bool is_new(const sweep_t *sweep, const case_t *spec, const void *context) {
    (void)sweep;
    return tfind(spec->id, context, compare_ids) == NULL;
}

/* Measured twice, the later result would replace the earlier without a word. */
static void drop_repeated(const run_t *run) {
    void *ids = NULL; /* tsearch() tree; its strings belong to the cases */
    for (size_t s = 0; s < run->n_sweeps; s++) {
        sweep_t *sweep = &run->sweeps[s];
        const size_t n = sweep->n_cases;
        sweep_keep_cases(sweep, is_new, &ids);
        if (sweep->n_cases < n && run->build == NULL && !run->options->quiet)
            fprintf(stderr,
                    "%zu cases of %s are in an earlier sweep and are measured once, there\n",
                    n - sweep->n_cases, sweep->path);
        for (size_t i = 0; i < sweep->n_cases; i++)
            if (tsearch(sweep->cases[i].id, &ids, compare_ids) == NULL)
                abort(); /* out of memory, as everywhere in mem_*() */
    }
    tdestroy(ids, keep_string);
}

static void set_passes(sweep_t *sweep, unsigned least, unsigned most) {
    sweep->measure.least_passes = least;
    sweep->measure.passes = most;
}

static void apply_options(const run_options_t *options, sweep_t *sweep) {
    if (options->quick) {
        sweep->measure.time_limit_s = fmin(sweep->measure.time_limit_s, QUICK_TIME_LIMIT_S);
        sweep->measure.draws = 1;
        set_passes(sweep, QUICK_PASSES, QUICK_PASSES);
    }
    if (options->trace) /* one walk */
        set_passes(sweep, sweep->measure.least_passes, sweep->measure.least_passes);
    if (options->draws > 0)
        sweep->measure.draws = options->draws;
    if (options->profile)
        sweep->measure.draws = 1;
    if (options->passes.most > 0)
        set_passes(sweep, options->passes.least, options->passes.most);
    if (options->profile)
        set_passes(sweep, 1, 1);
    if (options->time_limit_s > 0)
        sweep->measure.time_limit_s = options->time_limit_s;
}

void run_left_out(const run_options_t *options, text_list_t *engines) {
    if (options->no_pytorch)
        text_list_add(engines, "pytorch");
    if (options->no_jax)
        text_list_add(engines, "jax");
}

char *run_shard(const run_t *run) {
    const shard_t *shard = &run->options->shard;
    return shard->n > 0 ? mem_format("%u/%u", shard->number, shard->n) : NULL;
}

/* From all cases of the sweeps to those of this run. */
static void select_cases(run_t *run, const text_list_t *left_out) {
    for (size_t s = 0; s < run->n_sweeps; s++)
        for (size_t i = 0; i < left_out->n; i++)
            sweep_keep_cases(&run->sweeps[s], is_not_engine, left_out->items[i]);
    drop_repeated(run);
    /* Last, so that all shards choose from the same groups. */
    if (run->options->shard.n > 0)
        run->n_sharded_groups = sweeps_keep_shard(run->sweeps, run->n_sweeps, &run->options->shard);
    for (size_t s = 0; s < run->n_sweeps; s++)
        sweep_order(&run->sweeps[s], run->options->quick);
}

status_t run_load_sweeps(run_t *run, error_t *err) {
    const run_options_t *options = run->options;
    bool single = options->single.workload != NULL;
    if (single == (options->n_sweeps > 0))
        return error_set(err, STATUS_USAGE,
                         single ? "give sweep files or --workload, not both"
                                : "nothing to run: give sweep files, or --workload W");
    size_t n = single ? 1 : options->n_sweeps;
    run->sweeps = mem_zeroed(n, sizeof *run->sweeps);
    for (size_t i = 0; i < n; i++, run->n_sweeps++) {
        if (single)
            TRY(sweep_from_options(&options->single, options->root, &run->sweeps[i], err));
        else if (fs_is_folder(options->sweeps[i]))
            TRY(sweep_of_folder(options->sweeps[i], options->quick, options->root, &run->sweeps[i],
                                err));
        else
            TRY(sweep_load(options->sweeps[i], options->root, &run->sweeps[i], err));
        apply_options(options, &run->sweeps[i]);
    }
    AUTO(text_list_free) text_list_t left_out = {0};
    run_left_out(options, &left_out);
    select_cases(run, &left_out);
    return STATUS_OK;
}

status_t run_load_record_sweeps(run_t *run, error_t *err) {
    const record_t *record = &run->record;
    run->sweeps = mem_zeroed(record->n_sweeps + 1, sizeof *run->sweeps);
    for (size_t i = 0; i < record->n_sweeps; i++, run->n_sweeps++) {
        const sweep_text_t *sweep = &record->sweeps[i];
        TRY(sweep_parse(sweep->path, sweep->text, run->options->root, &run->sweeps[i], err));
        set_passes(&run->sweeps[i], sweep->least_passes, sweep->passes);
    }
    select_cases(run, &record->left_out);
    return STATUS_OK;
}

/* ---- passes enough ---------------------------------------------------------------------------- */

/* What is decided depends on the results of the passes so far alone, so that --resume and `bench merge` find the same. */

static bool is_there(const case_state_t *state) {
    return state->left == 0 && !state->dropped;
}

static bool has_enough(const case_state_t *state, unsigned pass, const measure_options_t *measure) {
    const stats_aim_t aim = {.half_width = measure->interval_frac,
                             .fewest = measure->least_passes,
                             .most = measure->passes};
    return stats_has_enough(state->compared, pass, &aim);
}

/* Is it the fastest of its engine by the phase compared? */
static bool leads(const group_t *group, size_t at, unsigned pass) {
    if (!group->states[at].may_lead)
        return false;
    const double ns = stats_interval_of(group->states[at].compared, pass).centre;
    for (size_t i = 0; i < group->n; i++) {
        const case_state_t *other = &group->states[i];
        if (i != at && !other->dropped && other->may_lead &&
            strcmp(group->cases[i].engine, group->cases[at].engine) == 0 &&
            stats_interval_of(other->compared, other->left > 0 ? other->left : pass).centre < ns)
            return false;
    }
    return true;
}

/* A ratio is formed pass by pass, from the passes that both sides have. So the fastest of each engine, which are compared
 * with each other, leave together. */
static void let_group_leave(const group_t *group, unsigned pass) {
    bool leaders_stay = false;
    for (size_t i = 0; i < group->n; i++)
        if (is_there(&group->states[i]) && !case_has_passes(&group->states[i], pass))
            return; /* it was interrupted, and is not over */
    for (size_t i = 0; i < group->n; i++)
        leaders_stay |= is_there(&group->states[i]) && leads(group, i, pass) &&
                        !has_enough(&group->states[i], pass, group->measure);
    for (size_t i = 0; i < group->n; i++) {
        case_state_t *state = &group->states[i];
        const bool stays = is_there(state) && (!has_enough(state, pass, group->measure) ||
                                               (leaders_stay && leads(group, i, pass)));
        if (state->left == 0 && !stays)
            state->left = pass;
    }
}

void run_let_leave(run_t *run, unsigned pass) {
    for (size_t s = 0; s < run->n_sweeps; s++) {
        const measure_options_t *measure = &run->sweeps[s].measure;
        const bool is_due = measure_is_open(measure) && pass >= measure->least_passes;
        for (size_t at = 0; is_due && at < run->sweeps[s].n_cases;) {
            const group_t group = run_next_group(run, s, &at);
            let_group_leave(&group, pass);
        }
    }
}

/* ---- the state of each case ------------------------------------------------------------------ */

typedef struct named_state {
    const char *id;
    case_state_t *state;
} named_state_t;

static int by_id(const void *a, const void *b) {
    return strcmp(((const named_state_t *)a)->id, ((const named_state_t *)b)->id);
}

bool run_is_retried(const run_t *run, const case_result_t *before) {
    return run->options->retry && before->pass <= run_passes(run) &&
           (before->status == CASE_FAILED || before->status == CASE_SKIPPED);
}

void run_make_states(run_t *run) {
    size_t n = 0, most = 0;
    run->states = mem_zeroed(run->n_sweeps, sizeof *run->states);
    for (size_t s = 0; s < run->n_sweeps; s++) {
        run->states[s] = mem_zeroed(run->sweeps[s].n_cases + 1, sizeof *run->states[s]);
        most += run->sweeps[s].n_cases;
    }
    AUTO_FREE named_state_t *all = mem_alloc((most + 1) * sizeof *all);
    for (run_case_t at = {0}; run_next_case(run, &at);)
        all[n++] = (named_state_t){at.spec->id, at.state};
    qsort(all, n, sizeof *all, by_id);
    for (size_t i = 0; i < run->record.n_cases; i++) {
        const case_result_t *before = &run->record.cases[i];
        const named_state_t key = {before->spec.id, NULL};
        const named_state_t *found = bsearch(&key, all, n, sizeof *all, by_id);
        if (found != NULL && !run_is_retried(run, before))
            case_note(found->state, before);
    }
    for (unsigned pass = 1; pass < run_passes(run); pass++)
        run_let_leave(run, pass);
}

static void count(const case_state_t *states, size_t n, case_counts_t *counts) {
    for (size_t i = 0; i < n; i++) {
        counts->known += states[i].finished != 0;
        counts->broken += states[i].broken;
        counts->unsound += states[i].unsound;
    }
}

case_counts_t run_count(const run_t *run) {
    case_counts_t counts = {0};
    for (size_t s = 0; run->states != NULL && s < run->n_sweeps; s++)
        count(run->states[s], run->sweeps[s].n_cases, &counts);
    if (run_has_rungs(run)) /* else nobody asked for what they need */
        count(run->calibrations, N_CALIBRATIONS, &counts);
    return counts;
}

static unsigned most_passes(const run_t *run, bool least) {
    unsigned most = 1;
    for (size_t s = 0; s < run->n_sweeps; s++) {
        const measure_options_t *measure = &run->sweeps[s].measure;
        const unsigned n = least ? measure->least_passes : measure->passes;
        most = n > most ? n : most;
    }
    return most;
}

unsigned run_passes(const run_t *run) {
    return most_passes(run, false);
}

unsigned run_least_passes(const run_t *run) {
    return most_passes(run, true);
}

char *run_passes_text(const run_t *run) {
    const unsigned least = run_least_passes(run), most = run_passes(run);
    return least == most ? mem_format("%u", most) : mem_format("%u to %u", least, most);
}

bool run_walks_once(const run_t *run) {
    return run->options->profile || run->options->trace;
}

bool run_calibrates(const run_t *run) {
    return run->arch != NULL && !run->options->profile;
}

/* ---- what is to come ------------------------------------------------------------------------- */

bool run_expect_pass(run_t *run, unsigned pass) {
    size_t n = 0;
    for (run_case_t at = {0}; run_next_case(run, &at);) {
        const measure_options_t *measure = &at.sweep->measure;
        n += pass > measure->least_passes && pass <= measure->passes &&
             !case_has_left(at.state, pass);
    }
    run->progress.total += n;
    run->progress.is_open = pass < run_passes(run);
    return pass <= run_least_passes(run) || n > 0;
}

/* ==== --resume ================================================================================ */

/* `bench run --resume`: only the same cases, measured by the same program on the same kind of machine,
 * are added to a run. */

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
    AUTO(text_list_free) text_list_t paths = {0};
    for (size_t i = 0; i < run->record.n_sweeps; i++)
        text_list_add(&paths, run->record.sweeps[i].path);
    AUTO_FREE char *list = text_list_join(&paths, ", ");
    return error_set(
        err, STATUS_INCOMPARABLE,
        "%s cannot be resumed: sweeps: found %s, which %s; expected the unchanged %s: give the "
        "same sweeps, or choose another --out",
        run->folder, path, what, list);
}

static status_t check_sweeps(const run_t *run, error_t *err) {
    AUTO_FREE sweep_text_t *sweeps = mem_zeroed(run->n_sweeps + 1, sizeof *sweeps);
    const record_t now = {.sweeps = sweeps, .n_sweeps = run->n_sweeps};
    for (size_t i = 0; i < run->n_sweeps; i++)
        sweeps[i] = (sweep_text_t){.path = run->sweeps[i].path, .text = run->sweeps[i].text};
    const char *added = record_other_sweep(&run->record, &now);
    const char *missing = record_other_sweep(&now, &run->record);
    if (added != NULL)
        return refuse_sweep(run, added, "was not measured there, or has changed", err);
    return missing == NULL ? STATUS_OK
                           : refuse_sweep(run, "no sweep with the text of one", "is missing", err);
}

static status_t refuse_kind(const run_t *run, const char *key, const char *found, error_t *err) {
    if (text_starts(key, "operators."))
        return error_set(err, STATUS_INCOMPARABLE,
                         "%s cannot be resumed: the files of %s have changed since: restore them "
                         "(workload.json, .py, .cu), or choose another --out",
                         run->folder, key + strlen("operators."));
    return error_set(err, STATUS_INCOMPARABLE,
                     "%s cannot be resumed: %s: found '%s', expected '%s': continue with the same "
                     "program and software on a machine of the same kind, or choose another --out",
                     run->folder, key, found, environment_get(&run->record.environment, key));
}

static status_t check_kind(const run_t *run, error_t *err) {
    AUTO(conditions_free)
    run_differences_t list = conditions_broken(&run->record.environment, &run->here, RESUMED);
    return list.n == 0 ? STATUS_OK : refuse_kind(run, list.items[0].key, list.items[0].other, err);
}

static status_t check_shard(const run_t *run, error_t *err) {
    static const char ALL[] = "all cases";
    const char *before = run->record.shard != NULL ? run->record.shard : ALL;
    AUTO_FREE char *shard = run_shard(run);
    const char *now = shard != NULL ? shard : ALL;
    if (strcmp(before, now) == 0)
        return STATUS_OK;
    return error_set(err, STATUS_INCOMPARABLE,
                     "%s cannot be resumed: shard: found %s, expected %s: give the same "
                     "--shard, or choose another --out",
                     run->folder, now, before);
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
    AUTO_FREE worker_link_t **links = NULL;
    size_t n = 0;
    run_make_states(run);
    for (run_case_t at = {0}; run_next_case(run, &at);) {
        worker_link_t *link;
        if (case_is_complete(at.state, at.sweep->measure.passes))
            continue;
        are_left = true;
        if (!case_engine_is_built_in(at.spec->engine) &&
            workers_find(&run->workers, at.spec, workers_asked_role(&run->workers), &link, NULL) ==
                STATUS_OK)
            worker_links_add(&links, &n, link);
    }
    worker_links_start(links, n, run->options->timeout_s);
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
        record_warn_dropped(&run->record);
    if (record_seal(&run->record) == SEAL_BROKEN)
        progress_note(&run->progress, "lines were edited after the run was closed");
    record_reopen(&run->record);
    const uint64_t passes = abandoned_passes(run);
    if (passes != 0) {
        TRY(record_write_header(&run->record, err)); /* its digest is that of other lines */
        TRY(drop_passes(run, passes, err));
    }
    tell_bad(run);
    mem_set_text(&run->record.finished, NULL);
    return STATUS_OK;
}

/* ==== --lock-clocks =========================================================================== */

bool run_has_rungs(const run_t *run) {
    const case_t *spec = run_find_gpu_case(run);
    return spec != NULL && strcmp(spec->engine, "cuda") == 0;
}

const case_t *run_find_gpu_case(const run_t *run) {
    const case_t *found = NULL;
    for (run_case_t at = {0}; run_next_case(run, &at);) {
        if (strcmp(at.spec->engine, "cuda") == 0)
            return at.spec;
        if (found == NULL && strcmp(at.spec->device, "cuda") == 0)
            found = at.spec;
    }
    return found;
}
