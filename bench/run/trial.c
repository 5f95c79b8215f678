#include "run/state.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "cuda/nvtx.h"
#include "measure/contender.h"
#include "model/result.h"
#include "results/record.h"
#include "workloads/described/described.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reference output ------------------------------------------------------------------------ */

/* Replace what is known of refilled inputs by that of another seed. */
static status_t refill_oracle(contender_t *oracle, kept_reference_t *kept, error_t *err) {
    const uint64_t seed = secret_seed();
    reference_t refilled;
    TRY(contender_reference(oracle, seed, &refilled, err));
    reference_free(&kept->refilled);
    kept->refilled = refilled;
    kept->seed = seed;
    return STATUS_OK;
}

static status_t run_oracle(trial_t *trial, const case_t *spec, worker_link_t *worker,
                           kept_reference_t *kept, error_t *err) {
    run_t *run = trial->run;
    const program_t *program;
    contender_t oracle;
    TRY(run_find_program(run, spec, &program, err));
    contender_init(&oracle, spec, worker, program, &run->settings);
    oracle.made = &trial->made;
    oracle.may_retry = false; /* compute_reference() tries again */
    status_t status = worker_link_start(worker, run->options->timeout_s, err);
    if (status == STATUS_OK) {
        contender_open(&oracle);
        if (kept->reference.names.n == 0)
            status = contender_reference(&oracle, 0, &kept->reference, err);
    }
    if (status == STATUS_OK)
        status = refill_oracle(&oracle, kept, err);
    if (status == STATUS_OK)
        status = made_inputs_have(&trial->made, MADE_BY_FUNCTION, kept->seed, worker,
                                  &trial->audited, err);
    if (status == STATUS_OK &&
        contender_refuse_fakes(&oracle, &kept->reference, &kept->refilled, err) != STATUS_OK) {
        kept->seed = 0; /* it is not known, then */
        status = STATUS_FAILED;
    }
    contender_finish(&oracle);
    contender_free(&oracle);
    return status;
}

static status_t compute_reference(trial_t *trial, kept_reference_t *kept, error_t *err) {
    run_t *run = trial->run;
    AUTO(case_free) case_t spec = {0};
    if (run->options->profile || !run_oracle_of(trial->group, &spec)) {
        kept->seed = secret_seed();
        return STATUS_OK;
    }
    worker_link_t *worker;
    if (workers_find(&run->workers, &spec, ORACLE, &worker, err) != STATUS_OK)
        return error_within(err, "reference output");
    status_t status = run_oracle(trial, &spec, worker, kept, err);
    /* Retry a worker that died (out of memory, say): the whole group depends on it. */
    if (status != STATUS_OK && !worker->running) {
        progress_note(&run->progress, "retrying the reference output: %s", err->text);
        error_clear(err);
        status = run_oracle(trial, &spec, worker, kept, err);
    }
    if (status != STATUS_OK)
        return error_within(err, "reference output");
    kept->pass = run->settings.pass;
    return STATUS_OK;
}

/* If the oracle's verify() decides, open the oracle until the pass is measured. */
static status_t open_verifier(trial_t *trial, error_t *err) {
    run_t *run = trial->run;
    AUTO(case_free) case_t spec = {0};
    worker_link_t *worker;
    if (!run_oracle_of(trial->group, &spec))
        return STATUS_OK;
    TRY(workers_find(&run->workers, &spec, ORACLE, &worker, err));
    trial->verifier = mem_alloc(sizeof *trial->verifier);
    contender_init(trial->verifier, &spec, worker, NULL, &run->settings);
    trial->verifier->may_retry = false; /* an inherited refill would be lost */
    trial->verifier->made = &trial->made;
    contender_open(trial->verifier);
    return trial->verifier->active
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "verify: %s", trial->verifier->result.reason);
}

static void close_verifier(trial_t *trial) {
    if (trial->verifier == NULL)
        return;
    contender_finish(trial->verifier);
    contender_free(trial->verifier);
    free(trial->verifier);
    trial->verifier = NULL;
}

/* That of the group, which has none before its first pass. */
static kept_reference_t *keep_reference(run_t *run, const group_t *group) {
    AUTO_FREE char *name = workload_group(group->workload, &group->cases[0]);
    size_t at = 0;
    while (at < run->n_references && strcmp(run->references[at].group, name) != 0)
        at++;
    if (at == run->n_references) {
        run->references = mem_resize(run->references, at + 1, sizeof *run->references);
        run->references[run->n_references++] = (kept_reference_t){.group = mem_text(name)};
    }
    return &run->references[at];
}

static bool is_known(const run_t *run, const kept_reference_t *kept) {
    return kept->seed != 0 && kept->pass == run->settings.pass;
}

/* Of a profiled run, too. */
static status_t open_made_inputs(trial_t *trial, error_t *err) {
    TRY(run_make_inputs(trial->run, &trial->group->cases[0], &trial->made, err));
    for (size_t i = 0; i < trial->n; i++)
        trial->contenders[i].made = &trial->made;
    return STATUS_OK;
}

/* Does the oracle say what a whole training has learned? */
static bool evaluates(const trial_t *trial) {
    const description_t *description = described_find(trial->group->workload->name);
    return description != NULL && description->whole != NULL && description->has_evaluate &&
           trial->run->settings.pass <= 1;
}

/* The group's reference outputs; NULL, with the reason, without them. */
static const kept_reference_t *find_reference(trial_t *trial, error_t *why) {
    run_t *run = trial->run;
    kept_reference_t *kept = keep_reference(run, trial->group);
    const spent_on_t before = spent_switch(run->settings.spent, SPENT_REFERENCE);
    status_t status = open_made_inputs(trial, why);
    if (status == STATUS_OK && !is_known(run, kept))
        status = compute_reference(trial, kept, why);
    if (status == STATUS_OK && (kept->reference.verified || evaluates(trial)))
        status = open_verifier(trial, why);
    spent_switch(run->settings.spent, before);
    return status == STATUS_OK ? kept : NULL;
}

/* ---- contenders ------------------------------------------------------------------------------ */

status_t trial_contender(run_t *run, const case_t *spec, const char *role, contender_t *contender,
                         error_t *err) {
    const program_t *program = NULL;
    worker_link_t *worker = NULL;
    case_status_t drop_status;
    AUTO_FREE char *reason = run_drop_reason(run, spec, &drop_status);
    error_t why = ERROR_INIT;
    if (reason == NULL)
        TRY(run_find_program(run, spec, &program, err));
    /* Code of the user's does not share a process. */
    const bool alone = program != NULL && program->is_object && role[0] == '\0' &&
                       strcmp(spec->engine, "cuda") == 0; /* that of others never does */
    if (reason == NULL &&
        workers_find(&run->workers, spec, alone ? spec->variant : role, &worker, &why) != STATUS_OK)
        reason = mem_text(why.text);
    contender_init(contender, spec, worker, program, &run->settings);
    if (reason != NULL)
        contender_drop(contender, drop_status, "%s", reason);
    contender_drop_unbuilt(contender); /* before the reference, which may take minutes */
    return STATUS_OK;
}

trial_t trial_make(run_t *run, const group_t *group, size_t most) {
    return (trial_t){.run = run,
                     .group = group,
                     .name = workload_group(group->workload, &group->cases[0]),
                     .contenders = mem_zeroed(most, sizeof(contender_t)),
                     .sides = mem_zeroed(most, sizeof(run_t *)),
                     .states = mem_zeroed(most, sizeof(case_state_t *))};
}

char *trial_role(const run_t *run, size_t i) {
    return run->options->isolate ? mem_format("%zu", i + 1) : mem_text("");
}

status_t trial_add(trial_t *trial, run_t *side, const group_t *group, size_t i, error_t *err) {
    contender_t *contender = &trial->contenders[trial->n];
    case_state_t *state = &group->states[i];
    AUTO_FREE char *role = trial_role(side, i);
    TRY(trial_contender(side, &group->cases[i], role, contender, err));
    contender->draw = side->settings.pass > 0 ? state->draw : side->settings.draw;
    contender->result.limit.bytes = group->workload->cost(&group->cases[i]).bytes;
    const unsigned pass = side->settings.pass;
    /* What a pass of both builds has in common is no part of their difference. */
    const bool is_alone = side->pair == NULL && pass > 1 && case_has_passes(state, pass - 1);
    for (size_t k = 0; k < STOPPING_PHASES && is_alone; k++)
        contender->stopping.variance_between[k] =
            stats_variance_between(state->stopped[k], pass - 1);
    trial->sides[trial->n] = side;
    trial->states[trial->n++] = state;
    return STATUS_OK;
}

bool case_is_done(const run_t *side, const case_state_t *state) {
    return state->dropped || (state->finished >> (side->settings.pass - 1) & 1) != 0;
}

void trial_free(trial_t *trial) {
    for (size_t i = 0; i < trial->n; i++)
        contender_free(&trial->contenders[i]);
    made_inputs_leave(&trial->made, &trial->audited);
    made_inputs_free(&trial->made);
    free(trial->name);
    free(trial->contenders);
    free(trial->sides);
    free(trial->states);
}

/* ---- what is done now ------------------------------------------------------------------------ */

/* The draw and the calibration are steps of their own. */
static bool is_within_step(const trial_t *trial) {
    return trial->run->settings.pass == 0 || is_calibration(&trial->group->cases[0]);
}

/* Takes the text. */
static void begin(trial_t *trial, char *what) {
    run_t *run = trial->run;
    if (!is_within_step(trial)) {
        progress_step(&run->progress, "%s", what);
    } else if (run->settings.pass == 0) {
        progress_now(&run->progress, "draw %u: %s", run->settings.draw, what);
    }
    free(what);
}

/* "opening 4 of 14: pytorch-cpu compile, mlp_infer/…" */
static char *which(const trial_t *trial, const char *does, size_t i) {
    const case_t *spec = &trial->contenders[i].result.spec;
    char engine[32];
    return mem_format("%s %zu of %zu: %s %s, %s", does, i + 1, trial->n,
                      case_engine_label(spec, engine), spec->variant, trial->name);
}

static void say(trial_t *trial, const char *does, size_t i) {
    progress_t *progress = &trial->run->progress;
    AUTO_FREE char *what = which(trial, does, i);
    if (!is_within_step(trial))
        progress_now(progress, "%s", what);
}

static void describe_round(const trial_t *trial, unsigned round) {
    run_t *run = trial->run;
    AUTO_FREE char *passes = run_passes_text(run);
    snprintf(run->progress.what, sizeof run->progress.what, "pass %u of %s, round %u, %s",
             run->settings.pass, passes, round, trial->name);
}

static void describe_rounds(progress_t *progress, void *context) {
    const trial_t *trial = context;
    unsigned round = 0;
    for (size_t i = 0; i < trial->n; i++) {
        const contender_t *contender = &trial->contenders[i];
        if (!contender->active || contender->result.stop != STOP_NONE)
            continue;
        round = contender->stopping.rounds > round ? contender->stopping.rounds : round;
    }
    if (round == 0)
        snprintf(progress->what, sizeof progress->what, "warming up, %s", trial->name);
    else
        describe_round(trial, round + 1);
}

static void say_rounds(trial_t *trial, bool begin) {
    progress_t *progress = &trial->run->progress;
    if (is_within_step(trial))
        return;
    progress->describe = begin ? describe_rounds : NULL;
    progress->context = trial;
    progress_now(progress, "%s", trial->name);
}

/* ---- their workers' processes ------------------------------------------------------------------ */

static void begin_of(run_t *run, const case_t *spec, const char *role) {
    worker_link_t *link;
    if (forks_know(spec->engine))
        workers_find(&run->workers, spec, role, &link, NULL); /* who opens a case will report it */
}

void run_begin_imports(run_t *run) {
    for (size_t s = 0; s < run->n_sweeps && run->workers.forked; s++) {
        const sweep_t *sweep = &run->sweeps[s];
        const group_t first = {.workload = sweep->workload, .cases = sweep->cases, .n = 1};
        AUTO(case_free) case_t oracle = {0};
        if (sweep->n_cases > 0 && run_oracle_of(&first, &oracle))
            begin_of(run, &oracle, ORACLE);
        for (size_t i = 0; i < sweep->n_cases; i++)
            begin_of(run, &sweep->cases[i], "");
    }
}

void run_start_links(run_t *run, worker_link_t **links, size_t n) {
    size_t n_new = 0;
    for (size_t i = 0; i < n; i++)
        if (!links[i]->running)
            links[n_new++] = links[i];
    const spent_on_t before = spent_switch(&run->spent, SPENT_START);
    free(guard_restore(run->settings.guard, NULL)); /* new processes inherit how we are bound */
    worker_links_start(links, n_new, run->options->timeout_s);
    spent_switch(&run->spent, before);
    for (size_t i = 0; i < n_new; i++)
        contender_note_contexts(&run->spent, links[i]);
}

/* Servers for further passes: beyond the least there may be one more, or none. */
static void launch_next_servers(run_t *run) {
    const unsigned pass = run->settings.pass, least = run_least_passes(run);
    forks_launch_next(&run->workers.forks, pass < least ? least - pass : pass < run_passes(run));
}

/* They keep cores busy until they have imported: threads of a worker waited 10 to 20 ms a round for one. What measures the
 * device itself needs none. */
static void await_servers(trial_t *trial) {
    run_t *run = trial->run;
    const bool all = !is_calibration(&trial->group->cases[0]);
    const spent_on_t before = spent_switch(&run->spent, SPENT_START);
    forks_await(&run->workers.forks, all);
    spent_switch(&run->spent, before);
}

/* Those that run no code of a contender before a case is opened start side by side, with the oracle's. Not of two builds:
 * there it matters which starts first. Who opens a case reports a failure. */
static void start_all(trial_t *trial) {
    run_t *run = trial->run;
    AUTO_FREE worker_link_t **links = NULL;
    worker_link_t *oracle;
    size_t n = 0;
    AUTO(case_free) case_t spec = {0};
    run_let_tune_in_turns(run);
    if (run->pair != NULL)
        return;
    if (!run->options->profile && run_oracle_of(trial->group, &spec) &&
        workers_find(&run->workers, &spec, ORACLE, &oracle, NULL) == STATUS_OK)
        worker_links_add(&links, &n, oracle);
    for (size_t i = 0; i < trial->n; i++) {
        const char *engine = trial->contenders[i].result.spec.engine;
        if (trial->contenders[i].active && (case_engine_is_built_in(engine) || forks_know(engine)))
            worker_links_add(&links, &n, trial->contenders[i].worker);
    }
    run_start_links(run, links, n);
    launch_next_servers(run);
}

/* ---- measuring ------------------------------------------------------------------------------- */

static bool is_any_active(const trial_t *trial) {
    bool any = false;
    for (size_t i = 0; i < trial->n; i++)
        any |= trial->contenders[i].active;
    return any;
}

static void open_each(trial_t *trial, bool backward) {
    for (size_t i = 0; i < trial->n && !*trial->run->interrupted; i++) {
        const size_t at = backward ? trial->n - 1 - i : i;
        AUTO_FREE char *no_time = run_no_time_left(trial->run);
        begin(trial, which(trial, "opening", at));
        if (trial->contenders[at].active && no_time != NULL)
            contender_drop(&trial->contenders[at], CASE_SKIPPED, "%s", no_time);
        else if (trial->contenders[at].active)
            contender_open(&trial->contenders[at]);
    }
}

static void drop_all(trial_t *trial, const char *reason) {
    for (size_t i = 0; i < trial->n; i++)
        if (trial->contenders[i].active)
            contender_drop(&trial->contenders[i], CASE_FAILED, "%s", reason);
}

/* What was measured is the files that the run began with. False: they are others now, and all contenders
 * are dropped. */
static bool check_files(trial_t *trial) {
    const description_t *description = described_find(trial->group->workload->name);
    error_t why = ERROR_INIT;
    if (description == NULL || description_check_files(description, &why) == STATUS_OK)
        return true;
    drop_all(trial, why.text);
    return false;
}

/* Nothing is computed for those of which no worker can be had, without a GPU say: this may take minutes. */
static void drop_without_worker(trial_t *trial) {
    for (size_t i = 0; i < trial->n; i++)
        if (trial->contenders[i].active && trial->contenders[i].worker->cannot != NULL)
            contender_open(&trial->contenders[i]);
}

/* The reference is loaded and computed before any code of a contender is. Without it nothing can be
 * verified, so nothing is timed: then all contenders that can be opened are dropped, and it is NULL. */
static const kept_reference_t *open_all(trial_t *trial, bool backward) {
    error_t why = ERROR_INIT;
    begin(trial, mem_format("reference in float64 on the CPU, %s", trial->name));
    if (!is_any_active(trial) || !check_files(trial))
        return NULL;
    start_all(trial);
    drop_without_worker(trial);
    if (!is_any_active(trial))
        return NULL;
    const kept_reference_t *kept = find_reference(trial, &why);
    if (kept != NULL)
        trial_compile(trial);
    open_each(trial, backward);
    await_servers(trial);
    if (kept == NULL)
        drop_all(trial, why.text);
    return check_files(trial) && is_any_active(trial) ? kept : NULL;
}

static expectation_t expectation(const trial_t *trial, const contender_t *contender,
                                 const reference_t *reference, uint64_t seed) {
    return (expectation_t){.seed = seed,
                           .reference = reference,
                           .tolerance = trial->group->workload->tolerance(&contender->result.spec),
                           .verifier = trial->verifier};
}

static void check_all(trial_t *trial, const reference_t *reference, bool after) {
    for (size_t i = 0; i < trial->n && !*trial->run->interrupted; i++) {
        contender_t *contender = &trial->contenders[i];
        const expectation_t expected = expectation(trial, contender, reference, 0);
        if (contender->active)
            say(trial, "checking", i);
        contender_check(contender, &expected,
                        after ? &contender->result.after : &contender->result.before);
        if (!after)
            contender_train(contender, evaluates(trial) ? trial->verifier : NULL,
                            trial->run->interrupted);
    }
}

/* All in the same rounds: equally often one that every contender takes, and the last, as who knows that the audit is over
 * may stop working. */
static void plan_audits(trial_t *trial, const kept_reference_t *kept) {
    const uint64_t drawn = secret_seed();
    for (size_t i = 0; i < trial->n; i++) {
        contender_t *contender = &trial->contenders[i];
        contender->audit =
            (audit_t){.expected = expectation(trial, contender, &kept->refilled, kept->seed),
                      .as_opened = expectation(trial, contender, &kept->reference, 0)};
        contender_plan_audit(contender, drawn);
    }
}

static void take_rounds(trial_t *trial, const kept_reference_t *kept) {
    run_t *run = trial->run;
    if (!run->options->profile) {
        check_all(trial, &kept->reference, false);
        plan_audits(trial, kept);
    }
    say_rounds(trial, true);
    schedule_rounds(trial->contenders, trial->n, run->options->seed, run->n_groups++,
                    run->interrupted);
    say_rounds(trial, false);
    const bool audited = !run->options->profile;
    for (size_t i = 0; i < trial->n; i++) {
        contender_t *contender = &trial->contenders[i];
        if (audited && contender->active)
            say(trial, "auditing", i);
        if (audited && !*run->interrupted)
            contender_audit(contender);
        contender_settle(contender);
        if (audited && !*run->interrupted)
            trust_find(contender);
    }
}

/* Compare the result with the hardware limits and journal it. */
static status_t write_result(trial_t *trial, size_t i, error_t *err) {
    run_t *side = trial->sides[i];
    case_state_t *state = trial->states[i];
    device_rates_t *rates = &trial->run->rates;
    case_result_t *result = &trial->contenders[i].result;
    limit_set(result, trial->group->workload, rates);
    plausibility_check(result, rates);
    implausible_find(result);
    device_rates_calibrate(result, rates);
    if (side->settings.pass == 0 && (!result_is_draw(result) || result->status == CASE_SKIPPED)) {
        side->progress.done++; /* not even opened: the passes will say why */
        return STATUS_OK;
    }
    state->unsound |= run_note_sanitized(side, &trial->contenders[i]);
    if (record_declare(&side->record, result))
        TRY(record_write_header(&side->record, err));
    TRY(journal_append(&side->journal, result, err));
    case_note(state, result);
    progress_case(&side->progress, result);
    return STATUS_OK;
}

/* What fails during an interruption may have failed by it: a slow worker is not waited for, and Slurm
 * sends SIGTERM to workers, too. */
static bool is_result(const run_t *run, const contender_t *contender) {
    return !*run->interrupted ||
           (contender_is_finished(contender) && contender->result.status != CASE_FAILED);
}

status_t trial_measure(trial_t *trial, bool backward, error_t *err) {
    for (size_t i = 0; i < trial->n; i++) {
        trial->sides[i]->has_measured = true;
        if (trial->sides[i]->settings.pass > 0)
            TRY(run_note_pass(trial->sides[i], err));
    }
    const kept_reference_t *kept = open_all(trial, backward);
    begin(trial, mem_format("measuring %s", trial->name));
    if (kept != NULL)
        take_rounds(trial, kept);
    if (kept != NULL)
        check_files(trial);
    close_verifier(trial);
    for (size_t i = 0; i < trial->n; i++) {
        if (trial->contenders[i].worker != NULL)
            contender_finish(&trial->contenders[i]);
        run_note_workers(trial->sides[i]);
    }
    begin(trial, mem_text(trial->name));
    for (size_t i = 0; i < trial->n; i++)
        if (is_result(trial->run, &trial->contenders[i]))
            TRY(write_result(trial, i, err));
    return STATUS_OK;
}

/* ---- a group in the current pass ------------------------------------------------------------- */

static status_t add_all(trial_t *trial, const group_t *group, error_t *err) {
    run_t *run = trial->run;
    for (size_t i = 0; i < group->n; i++)
        if (case_has_left(&group->states[i], run->settings.pass)) {
            continue;
        } else if (case_is_done(run, &group->states[i])) {
            run->progress.done++;
        } else {
            TRY(trial_add(trial, run, group, i, err));
        }
    return STATUS_OK;
}

status_t run_measure(run_t *run, const group_t *group, error_t *err) {
    AUTO(trial_free) trial_t trial = trial_make(run, group, group->n);
    nvtx_push(trial.name);
    run->settings.measure = stopping_share(group->measure);
    status_t status = add_all(&trial, group, err);
    if (status == STATUS_OK && trial.n > 0)
        status = trial_measure(&trial, false, err);
    nvtx_pop();
    return status;
}
