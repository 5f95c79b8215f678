/* A tuning compiler's choice differs from one compilation to the next, by a factor of six for one case
 * (docs/measuring.md). So each case that it compiles is compiled several times before the passes, each
 * time in a new process and with a cache folder that has no choices: a draw. All passes then load the
 * fastest draw's cache. */
#include "run/entrants.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/fs.h"
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

/* ---- side by side ------------------------------------------------------------------------------ */

/* The first draw is compiled by one process after another: how long a compilation takes is said of it. The others of what
 * took long are compiled here before they are measured, by as many processes as there are cores. They use the GPU for
 * their choices one at a time (reference_common/turns.py); nothing is timed meanwhile. */
enum { LANES_MOST = 8 };
/* A process takes seconds before it compiles: what takes less is compiled where it is measured. */
static const double LONG_COMPILATION_NS = 5e9;
static const char TURNS[] = "BENCH_TUNES_IN_TURNS";

typedef struct compilation {
    const case_t *spec;
    unsigned draw;
    worker_link_t *worker; /* that compiles it now */
    json_t *request;
} compilation_t;

static compilation_t *find_compilations(run_t *run, unsigned most, size_t *n) {
    size_t capacity = 0;
    compilation_t *found = NULL;
    for (unsigned draw = 2; draw <= most; draw++)
        for (size_t s = 0; s < run->n_sweeps; s++)
            for (size_t i = 0; i < run->sweeps[s].n_cases; i++) {
                const case_state_t *state = &run->states[s][i];
                const bool is_missing = (state->drawn >> (draw - 1) & 1) == 0;
                if (state->draw == 0 || !(state->compile_ns >= LONG_COMPILATION_NS) ||
                    !is_missing || state->finished != 0 || state->dropped ||
                    draw > run->sweeps[s].measure.draws)
                    continue;
                mem_grow(&found, *n, &capacity, sizeof *found);
                found[(*n)++] = (compilation_t){.spec = &run->sweeps[s].cases[i], .draw = draw};
            }
    return found;
}

/* What fails is compiled by its draw, which reports it. */
static bool begin(run_t *run, compilation_t *job, size_t lane) {
    char *role = mem_format("lane%zu", lane);
    const double timeout_s = run->options->timeout_s;
    error_t ignored = ERROR_INIT;
    bool is_sent =
        workers_find(&run->workers, job->spec, role, &job->worker, &ignored) == STATUS_OK &&
        worker_link_start(job->worker, timeout_s, &ignored) == STATUS_OK;
    free(role);
    if (!is_sent)
        return false;
    job->request = open_request_make(job->spec, NULL, run->settings.seed, false);
    open_request_set_cache(job->request, run->settings.compiled, job->draw);
    open_request_without_results(job->request, job->worker->hello);
    return worker_link_send(job->worker, job->request, timeout_s, &ignored) == STATUS_OK;
}

static void end(run_t *run, compilation_t *job) {
    error_t ignored = ERROR_INIT;
    json_t *answer = NULL, *closed = NULL;
    if (worker_link_receive(job->worker, job->request, &answer, &ignored) == STATUS_OK)
        worker_link_ask(job->worker, json_pack("{s:s, s:s}", "op", "close", "id", job->spec->id),
                        run->options->timeout_s, &closed, &ignored);
    json_decref(answer);
    json_decref(closed);
}

typedef struct lanes {
    compilation_t *busy[LANES_MOST]; /* what each compiles; NULL: nothing */
    size_t n;
} lanes_t;

/* Give each lane something to compile. `links`, `at`: of those that do, in order; returns how many. */
static size_t fill(run_t *run, lanes_t *lanes, compilation_t **next, const compilation_t *end_of,
                   worker_link_t **links, size_t *at) {
    size_t n_busy = 0;
    for (size_t i = 0; i < lanes->n; i++) {
        while (lanes->busy[i] == NULL && *next < end_of && !*run->interrupted) {
            compilation_t *job = (*next)++;
            lanes->busy[i] = begin(run, job, i) ? job : NULL;
        }
        if (lanes->busy[i] != NULL) {
            links[n_busy] = lanes->busy[i]->worker;
            at[n_busy++] = i;
        }
    }
    return n_busy;
}

static void compile_side_by_side(run_t *run, compilation_t *jobs, size_t n, size_t n_lanes) {
    lanes_t lanes = {.n = n_lanes};
    compilation_t *next = jobs;
    worker_link_t *links[LANES_MOST];
    size_t at[LANES_MOST], n_busy, n_done = 0;
    while ((n_busy = fill(run, &lanes, &next, jobs + n, links, at)) > 0) {
        char *what = mem_format("compiling side by side, %zu of %zu", n_done, n);
        progress_step(&run->progress, STEP_OTHER, "", 1, what);
        free(what);
        const size_t i = worker_links_await(links, n_busy);
        if (i == n_busy)
            break; /* interrupted */
        end(run, lanes.busy[at[i]]);
        lanes.busy[at[i]] = NULL;
        n_done++;
    }
    for (size_t i = 0; i < n_lanes; i++)
        if (lanes.busy[i] != NULL)
            worker_link_kill(lanes.busy[i]->worker);
}

static void compile_other_draws(run_t *run, unsigned most) {
    const size_t n_lanes = run->cores.n < LANES_MOST ? run->cores.n : LANES_MOST;
    size_t n = 0, n_links = 0;
    worker_link_t **links = NULL;
    if (n_lanes < 2 || run->options->isolate || run->settings.compiled == NULL)
        return;
    compilation_t *jobs = find_compilations(run, most, &n);
    const spent_on_t before = spent_switch(&run->spent, SPENT_COMPILE);
    char *file = n > 0 ? fs_join(run->workers.scratch, "turns") : mem_text("");
    setenv(TURNS, file, 1);
    compile_side_by_side(run, jobs, n, n_lanes);
    unsetenv(TURNS);
    for (size_t i = 0; i < n; i++) {
        if (jobs[i].worker != NULL)
            worker_links_add(&links, &n_links, jobs[i].worker);
        json_decref(jobs[i].request);
    }
    worker_links_stop(links, n_links);
    free(guard_restore(run->settings.guard, NULL));
    spent_switch(&run->spent, before);
    free(file);
    free(links);
    free(jobs);
}

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
        if (draw == 1)
            compile_other_draws(run, most);
        before_s = (double)(clock_ns() - began_ns) / 1e9;
    }
    return STATUS_OK;
}
