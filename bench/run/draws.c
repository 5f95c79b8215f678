/* A tuning compiler's choice differs from one compilation to the next, by a factor of six for one case
 * (docs/measuring.md). So each case that it compiles is compiled several times before the passes, each
 * time in a new process and with a cache folder that has no choices: a draw. All passes then load the
 * fastest draw's cache. */
#include "run/entrants.h"

#include "base/clock.h"
#include "base/memory.h"
#include "measure/open_request.h"

#include <stdlib.h>

/* Only a running worker says what it compiles. */
static bool is_tuned(run_t *run, const group_t *group, size_t i) {
    const case_t *spec = &group->cases[i];
    worker_link_t *worker;
    error_t ignored = ERROR_INIT; /* the passes will report it */
    if (group->states[i].untuned)
        return false;
    char *role = entrant_role(run, i);
    const bool tuned = !case_engine_is_built_in(spec->engine) &&
                       workers_find(&run->workers, spec, role, &worker, &ignored) == STATUS_OK &&
                       worker_link_start(worker, run->options->timeout_s, &ignored) == STATUS_OK &&
                       open_request_is_tuned(worker->hello, spec);
    group->states[i].untuned = !tuned;
    free(role);
    return tuned;
}

static status_t add_tuned(entrants_t *entrants, const group_t *group, unsigned draw, error_t *err) {
    run_t *run = entrants->run;
    for (size_t i = 0; i < group->n; i++) {
        case_state_t *state = &group->states[i];
        const bool drawn = (state->drawn >> (draw - 1) & 1) != 0;
        if (drawn || state->finished != 0 || state->dropped || !is_tuned(run, group, i))
            continue;
        if (state->drawn == 0) /* the same are drawn again */
            estimate_expect(&run->progress.estimate, STEP_DRAW, "",
                            group->measure->draws + 1 - draw);
        TRY(entrants_add(entrants, run, group, i, err));
        run->progress.total++;
    }
    return STATUS_OK;
}

static status_t draw_group(run_t *run, const group_t *group, unsigned draw, error_t *err) {
    entrants_t entrants = entrants_make(run, group, group->n);
    run->settings.measure = stopping_share(group->measure);
    char *what = mem_format("draw %u of %u, %s", draw, group->measure->draws, entrants.name);
    progress_step(&run->progress, STEP_OTHER, "", 1, what);
    status_t status = add_tuned(&entrants, group, draw, err);
    if (status == STATUS_OK && entrants.n > 0) {
        progress_step(&run->progress, STEP_DRAW, "", entrants.n, what);
        status = entrants_measure(&entrants, false, err);
    }
    free(what);
    entrants_free(&entrants);
    return status;
}

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
    run_end_processes(run);
    return STATUS_OK;
}

status_t run_draw(run_t *run, error_t *err) {
    unsigned most = 1;
    for (size_t s = 0; s < run->n_sweeps; s++)
        if (run->sweeps[s].measure.draws > most)
            most = run->sweeps[s].measure.draws;
    double before_s = 0;
    for (unsigned draw = 1; draw <= most && most > 1 && !*run->interrupted; draw++) {
        const int64_t began_ns = clock_ns();
        if (!run_has_time_for_draw(run, draw, before_s))
            return STATUS_OK;
        TRY(draw_once(run, draw, err));
        before_s = (double)(clock_ns() - began_ns) / 1e9;
    }
    return STATUS_OK;
}
