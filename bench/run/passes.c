/* Pass after pass over the sweeps, one group after another. */
#include "base/clock.h"
#include "base/memory.h"
#include "io/fs.h"
#include "measure/contender.h"
#include "run/state.h"
#include "workloads/device/descriptor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== calibration ============================================================================= */

/* Cases that measure the device itself, before all others. */

enum {
    IN_DRAM_BYTES = 1 << 30,  /* far larger than any L2 */
    OVER_BUS_BYTES = 1 << 26, /* a millisecond: the start of a copy is 1 % of it */
    MATRIX_BYTES = DEVICE_MATMUL_ROWS * DEVICE_MATMUL_ROWS * sizeof(float),
};

typedef struct calibration {
    const char *workload, *variant, *param;
    int64_t value;
    bool compiled;
} calibration_t;

/* As run_make_states() does for the cases of the sweeps. */
static void note_before(run_t *run, const case_t *spec, case_state_t *state) {
    for (unsigned pass = 1; pass <= run->settings.pass; pass++) {
        const case_result_t key = {.spec = *spec, .pass = pass};
        const case_result_t *before = record_find_same(&run->record, &key);
        if (before == NULL || run_is_retried(run, before))
            continue;
        case_note(state, before);
        if (pass == run->settings.pass)
            device_rates_calibrate(before, &run->rates);
    }
}

static status_t calibrate_with(run_t *run, size_t index, const calibration_t *what, error_t *err) {
    measure_options_t measure = MEASURE_DEFAULTS;
    measure.passes = run_passes(run);
    measure.least_passes = run_least_passes(run);
    measure.time_limit_s = 2;
    const workload_t *workload = workload_find(what->workload);
    AUTO(case_free) case_t spec = run_calibration_case(what->workload, what->variant);
    case_add_param(&spec, what->param, &(value_t){.kind = VALUE_INT, .integer = what->value});
    workload_complete(workload, &spec);
    const group_t group = {.workload = workload,
                           .cases = &spec,
                           .states = &run->calibrations[index],
                           .n = 1,
                           .measure = &measure};
    run->progress.total++;
    progress_step(&run->progress, "calibration %zu of %d: %s", index + 1, N_CALIBRATIONS, spec.id);
    note_before(run, &spec, &run->calibrations[index]);
    return run_measure(run, &group, err);
}

/* Where no rung needs it: a GPU may be set to serve one process at a time. */
static void end_our_own(run_t *run) {
    for (size_t i = 0; i < run->workers.n && !run_has_rungs(run); i++) {
        const char *label = run->workers.items[i]->label;
        if (strcmp(label, "cuda") == 0 || text_starts(label, "cuda-"))
            worker_links_stop(&run->workers.items[i], 1);
    }
}

status_t run_calibrate(run_t *run, error_t *err) {
    if (!run_calibrates(run))
        return STATUS_OK;
    const calibration_t ALL[N_CALIBRATIONS] = {
        {"device", "copy", "bytes", IN_DRAM_BYTES, false},
        {"device", "bus", "bytes", OVER_BUS_BYTES, false},
        {"device", "matmul", "bytes", MATRIX_BYTES, false},
        {"device", "01_read", "bytes", (int64_t)(run->rates.l2_bytes / 4), true},
        {"device", "02_barrier", "bytes", 1, true},
        {"null", "01_empty", "work_ns", 0, true}};
    for (size_t i = 0; i < N_CALIBRATIONS; i++) {
        const bool possible = !ALL[i].compiled || run->no_compiler == NULL;
        const bool has_size = ALL[i].value > 0 || strcmp(ALL[i].param, "bytes") != 0;
        if (possible && has_size)
            TRY(calibrate_with(run, i, &ALL[i], err));
    }
    end_our_own(run);
    return STATUS_OK;
}

/* ==== passes ================================================================================== */

/* The running workers but the oracle's, if something was measured in them. */
static size_t used_workers(run_t *run, worker_link_t **links) {
    size_t n = 0;
    for (size_t i = 0; i < run->workers.n && run->has_measured; i++) {
        worker_link_t *link = run->workers.items[i];
        if (link->running && !text_ends(link->label, "-oracle"))
            links[n++] = link;
    }
    run->has_measured = false;
    return n;
}

/* End all workers but the oracle's, unless nothing was measured in them; if `again`, start them, all at once, as their
 * imports take seconds. */
static void end_processes(run_t *run, bool again) {
    AUTO_FREE worker_link_t **links = mem_alloc((run->workers.n + 1) * sizeof(worker_link_t *));
    const spent_on_t before = spent_switch(&run->spent, SPENT_STOP);
    const size_t n = used_workers(run, links);
    worker_links_stop(links, n);
    free(guard_restore(run->settings.guard, NULL)); /* what they left is nobody's fault yet */
    if (n > 0)
        forks_take_next(&run->workers.forks);
    spent_switch(&run->spent, before);
    if (again)
        run_start_links(run, links, n);
}

void run_start_pass(run_t *run, unsigned pass) {
    AUTO_FREE char *passes = run_passes_text(run);
    progress_step(&run->progress, "pass %u of %s", pass, passes);
    progress_pass(&run->progress);
    end_processes(run, true);
    run->settings.pass = pass;
}

/* Was there nothing left of the current pass after --resume on another machine? */
static bool is_from_elsewhere(const run_t *run) {
    bool known = false, here = false;
    for (size_t i = 0; i < run->record.n_passes; i++) {
        const environment_t *facts = &run->record.passes[i];
        if (record_pass_number(facts) != run->settings.pass)
            continue;
        known = true;
        here |= record_pass_is_on(facts, environment_get(&run->here, "host.name"),
                                  environment_get(&run->here, "gpu.uuid"));
    }
    return known && !here;
}

/* Since the end of the pass before. With --against one side counts. */
static void note_spent(run_t *run, environment_t *facts) {
    if (run->spent.since_ns == 0)
        return;
    spent_switch(&run->spent, run->spent.on);
    record_set_spent(facts, &run->spent);
    for (size_t i = 0; i < SPENT_KINDS; i++)
        run->spent.ns[i] = 0;
}

/* Times by the host's clock are longer on a slow one. Those of a single pass are compared with nothing. */
static void note_host_speed(run_t *run, environment_t *facts) {
    if (run->options->quick)
        return;
    const host_speed_t speed = cores_host_speed(run->settings.cores);
    environment_set_number(facts, RECORD_HOST_LOOP, round(speed.loop_ns));
    environment_set_number(facts, RECORD_HOST_COPY, speed.copy_bytes_per_s);
}

status_t run_end_pass(run_t *run, error_t *err) {
    char now[32];
    if (*run->interrupted || is_from_elsewhere(run))
        return STATUS_OK;
    environment_t *facts = run_pass_facts(run);
    AUTO_FREE char *used = cores_take_used(&run->cores);
    if (used[0] != '\0') /* else no worker was placed */
        environment_set(facts, "cores", used);
    if (environment_get(facts, "gpu") == NULL) /* a Python worker found it */
        environment_set(facts, "gpu", environment_get(&run->here, "gpu.uuid"));
    if (environment_get(facts, "finished") == NULL) { /* else it was complete before --resume */
        environment_set(facts, "finished", clock_timestamp(now));
        note_spent(run, facts);
        note_host_speed(run, facts);
    }
    return record_write_header(&run->record, err);
}

/* ---- --budget -------------------------------------------------------------------------------- */

/* The time that a pass may take beyond the one before it: its workers start anew. */
static const double MARGIN_FRAC = 0.2;

/* What the first pass compiled within so many seconds, at least: later ones load that. Facts count from the run's begin. */
static double compiled_once_s(const environment_t *facts, double took_s) {
    if (record_pass_number(facts) != 1)
        return 0;
    const spent_t spent = record_pass_spent(facts);
    const double before_s = fmax(spent_total_ns(&spent) / 1e9 - took_s, 0);
    return fmax(spent.ns[SPENT_COMPILE] / 1e9 - before_s, 0);
}

/* The shortest that ended: one that was cut off and resumed counts the time between. */
static double shortest_pass_s(const run_t *run) {
    double shortest = INFINITY;
    for (size_t i = 0; i < run->record.n_passes; i++) {
        const environment_t *facts = &run->record.passes[i];
        const char *started = environment_get(facts, "started");
        const char *finished = environment_get(facts, "finished");
        if (started == NULL || finished == NULL)
            continue;
        const double took_s = clock_timestamp_s(finished) - clock_timestamp_s(started) + 1;
        shortest = fmin(shortest, fmax(took_s - compiled_once_s(facts, took_s), 1));
    }
    return isfinite(shortest) ? shortest : 0;
}

static bool is_left(const run_t *run, unsigned pass) {
    for (run_case_t at = {0}; run_next_case(run, &at);) {
        const bool finished = (at.state->finished >> (pass - 1) & 1) != 0;
        if (!at.state->dropped && !finished && !case_has_left(at.state, pass) &&
            pass <= at.sweep->measure.passes)
            return true;
    }
    return false;
}

static bool has_time(run_t *run, const char *what, unsigned number, double needed_s) {
    const double budget_s = run->options->budget_s;
    const double spent_s = (double)(clock_ns() - run->began_ns) / 1e9;
    needed_s *= 1 + MARGIN_FRAC;
    if (budget_s == 0 || run->options->quick || spent_s + needed_s <= budget_s)
        return true;
    run->out_of_time =
        mem_format("%.0f of %.0f s are left, and %s %u may take %.0f s",
                   fmax(budget_s - spent_s, 0), budget_s, what, number, ceil(needed_s));
    return false;
}

/* ---- all passes ------------------------------------------------------------------------------ */

static bool is_last_of_workload(const run_t *run, size_t sweep) {
    for (size_t s = sweep + 1; s < run->n_sweeps; s++)
        if (run->sweeps[s].workload == run->sweeps[sweep].workload)
            return false;
    return true;
}

static status_t measure_sweep(run_t *run, size_t s, error_t *err) {
    for (size_t at = 0; at < run->sweeps[s].n_cases && !*run->interrupted;) {
        const group_t group = run_next_group(run, s, &at);
        TRY(run_measure(run, &group, err));
        if (at < run->sweeps[s].n_cases)
            TRY(run_print_so_far(run, &run->sweeps[s], err));
    }
    return STATUS_OK;
}

static status_t measure_pass(run_t *run, unsigned pass, error_t *err) {
    const bool is_last = pass == run_passes(run);
    run_start_pass(run, pass);
    TRY(run_calibrate(run, err));
    for (size_t s = 0; s < run->n_sweeps; s++) {
        if (pass == 1 || pass <= run->sweeps[s].measure.passes)
            TRY(measure_sweep(run, s, err));
        if (is_last && is_last_of_workload(run, s))
            TRY(run_print_workload(run, run->sweeps[s].workload->name, err));
    }
    TRY(run_end_pass(run, err));
    run_let_leave(run, pass);
    return STATUS_OK;
}

status_t run_measure_all(run_t *run, error_t *err) {
    const unsigned n_passes = run_passes(run);
    unsigned pass = 1;
    for (; pass <= n_passes && !*run->interrupted; pass++) {
        if (!run_expect_pass(run, pass))
            break;
        if (is_left(run, pass) && !has_time(run, "pass", pass, shortest_pass_s(run)))
            return STATUS_OK;
        TRY(measure_pass(run, pass, err));
    }
    for (size_t s = 0; s < run->n_sweeps && pass <= n_passes && !*run->interrupted; s++)
        if (is_last_of_workload(run, s))
            TRY(run_print_workload(run, run->sweeps[s].workload->name, err));
    return STATUS_OK;
}

/* A tuning compiler's choice differs from one compilation to the next, by a factor of six for one case
 * (docs/measuring.md). So each case that it compiles is compiled several times before the passes, each
 * time in a new process and with a cache folder that has no choices: a draw. All passes then load the
 * fastest draw's cache. */

/* Only a running worker says what it compiles. The passes report why it does not start. */
static bool is_tuned(run_t *run, const group_t *group, size_t i) {
    const case_t *spec = &group->cases[i];
    worker_link_t *worker;
    if (group->states[i].untuned)
        return false;
    AUTO_FREE char *role = trial_role(run, i);
    const bool tuned = !case_engine_is_built_in(spec->engine) &&
                       workers_start(&run->workers, spec, role, run->options->timeout_s, &worker,
                                     NULL) == STATUS_OK &&
                       open_request_is_tuned(worker->hello, spec);
    group->states[i].untuned = !tuned;
    return tuned;
}

static status_t add_tuned(trial_t *trial, const group_t *group, unsigned draw, error_t *err) {
    run_t *run = trial->run;
    for (size_t i = 0; i < group->n; i++) {
        case_state_t *state = &group->states[i];
        const bool drawn = (state->drawn >> (draw - 1) & 1) != 0;
        if (drawn || state->finished != 0 || state->dropped || !is_tuned(run, group, i))
            continue;
        TRY(trial_add(trial, run, group, i, err));
        run->progress.total++;
    }
    return STATUS_OK;
}

static status_t draw_group(run_t *run, const group_t *group, unsigned draw, error_t *err) {
    AUTO(trial_free) trial_t trial = trial_make(run, group, group->n);
    run->settings.measure = stopping_share(group->measure);
    progress_step(&run->progress, "draw %u of %u, %s", draw, group->measure->draws, trial.name);
    TRY(add_tuned(&trial, group, draw, err));
    return trial.n > 0 ? trial_measure(&trial, false, err) : STATUS_OK;
}

/* ==== draws =================================================================================== */

/* ---- one after another ------------------------------------------------------------------------- */

static status_t draw_once(run_t *run, unsigned draw, error_t *err) {
    run->settings.pass = 0;
    run->settings.draw = draw;
    for (size_t s = 0; s < run->n_sweeps; s++) {
        const unsigned n_draws = run->sweeps[s].measure.draws;
        for (size_t at = 0; at < run->sweeps[s].n_cases && !*run->interrupted;) {
            const group_t group = run_next_group(run, s, &at);
            if (n_draws > 1 && draw <= n_draws)
                TRY(draw_group(run, &group, draw, err));
        }
    }
    end_processes(run, false);
    return STATUS_OK;
}

status_t run_draw(run_t *run, error_t *err) {
    unsigned most = 1;
    for (size_t s = 0; s < run->n_sweeps; s++)
        if (run->sweeps[s].measure.draws > most)
            most = run->sweeps[s].measure.draws;
    double needed_s = 0;
    for (unsigned draw = 1; draw <= most && most > 1 && !*run->interrupted; draw++) {
        const int64_t began_ns = clock_ns();
        if (!has_time(run, "draw", draw, needed_s))
            return STATUS_OK;
        TRY(draw_once(run, draw, err));
        needed_s = (double)(clock_ns() - began_ns) / 1e9;
        if (draw > 1)
            continue;
        const double compile_s = run_draws_compile_s(run, most);
        needed_s = fmax(needed_s - compile_s / (most - 1), 0); /* of one that is compiled */
        if (!has_time(run, "draw", 2, needed_s + compile_s))
            return STATUS_OK;
        run_compile_draws(run, most);
    }
    return STATUS_OK;
}
