/* Compilations side by side: the further draws of a run, and with --quick what a group has compiled.
 *
 * Workers use the GPU for their choices one at a time (reference_common/turns.py); nothing is timed meanwhile. */
#include "base/memory.h"
#include "io/fs.h"
#include "measure/contender.h"
#include "run/state.h"

#include <stdlib.h>
#include <string.h>

enum { LANES_MOST = 8 };

static const char TURNS[] = "BENCH_TUNES_IN_TURNS";
/* With one lane a core there is none left for processes of the compiler. */
static const char ONE_THREAD[] = "BENCH_COMPILES_ON_ONE_THREAD";

typedef struct compilation {
    const case_t *spec;
    unsigned draw;
    double first_ns;       /* what the first draw took */
    worker_link_t *worker; /* that compiles it; NULL: any lane's */
    bool begun;
    json_t *request;
    json_t *answer;
    made_inputs_t made; /* what it reads meanwhile */
} compilation_t;

typedef struct lanes {
    compilation_t *jobs;
    size_t n_jobs;
    compilation_t *busy[LANES_MOST]; /* what each compiles; NULL: nothing */
    size_t n;
} lanes_t;

static void set_inputs(run_t *run, compilation_t *job) {
    made_reader_t reader = {0};
    if (run_make_inputs(run, job->spec, &job->made, NULL) == STATUS_OK &&
        made_inputs_fit(&job->made, MADE_ALL, NULL) == STATUS_OK &&
        made_inputs_have(&job->made, MADE_ALL, 0, job->worker, &reader, NULL) == STATUS_OK)
        open_request_set_inputs(job->request, &job->made, &reader);
}

/* What fails is compiled where it is measured, and reported there. */
static bool begin(run_t *run, compilation_t *job, size_t lane) {
    AUTO_FREE char *role = mem_format("lane%zu", lane);
    const double timeout_s = run->options->timeout_s;
    job->begun = true;
    const status_t started = job->worker != NULL ? worker_link_start(job->worker, timeout_s, NULL)
                                                 : workers_start(&run->workers, job->spec, role,
                                                                 timeout_s, &job->worker, NULL);
    if (started != STATUS_OK)
        return false;
    job->request = open_request_make(job->spec, NULL, run->settings.seed, false);
    open_request_set_cache(job->request, run->settings.compiled, job->draw);
    open_request_without_results(job->request, job->worker->hello);
    set_inputs(run, job);
    return worker_link_send(job->worker, job->request, timeout_s, NULL) == STATUS_OK;
}

static void end(run_t *run, compilation_t *job) {
    json_auto_t *closed = NULL;
    if (worker_link_receive(job->worker, job->request, &job->answer, NULL) == STATUS_OK)
        worker_link_ask(job->worker, json_pack("{s:s, s:s}", "op", "close", "id", job->spec->id),
                        run->options->timeout_s, &closed, NULL);
}

static bool is_idle(const lanes_t *lanes, const worker_link_t *worker) {
    for (size_t i = 0; i < lanes->n; i++)
        if (worker != NULL && lanes->busy[i] != NULL && lanes->busy[i]->worker == worker)
            return false;
    return true;
}

static compilation_t *next_job(const lanes_t *lanes) {
    for (size_t i = 0; i < lanes->n_jobs; i++)
        if (!lanes->jobs[i].begun && is_idle(lanes, lanes->jobs[i].worker))
            return &lanes->jobs[i];
    return NULL;
}

/* Give each lane something to compile. `links`, `at`: of those that do, in order; returns how many. */
static size_t fill(run_t *run, lanes_t *lanes, worker_link_t **links, size_t *at) {
    size_t n_busy = 0;
    for (size_t i = 0; i < lanes->n; i++) {
        compilation_t *job;
        while (lanes->busy[i] == NULL && !*run->interrupted && (job = next_job(lanes)) != NULL)
            lanes->busy[i] = begin(run, job, i) ? job : NULL;
        if (lanes->busy[i] != NULL) {
            links[n_busy] = lanes->busy[i]->worker;
            at[n_busy++] = i;
        }
    }
    return n_busy;
}

static void compile_side_by_side(run_t *run, lanes_t *lanes) {
    worker_link_t *links[LANES_MOST];
    size_t at[LANES_MOST], n_busy, n_done = 0;
    const spent_on_t before = spent_switch(&run->spent, SPENT_COMPILE);
    while ((n_busy = fill(run, lanes, links, at)) > 0) {
        progress_step(&run->progress, "compiling side by side, %zu of %zu", n_done, lanes->n_jobs);
        const size_t i = worker_links_await(links, n_busy);
        if (i == n_busy)
            break; /* interrupted */
        end(run, lanes->busy[at[i]]);
        lanes->busy[at[i]] = NULL;
        n_done++;
    }
    for (size_t i = 0; i < lanes->n; i++)
        if (lanes->busy[i] != NULL)
            worker_link_kill(lanes->busy[i]->worker);
    spent_switch(&run->spent, before);
}

static void free_jobs(compilation_t *jobs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        json_decref(jobs[i].request);
        json_decref(jobs[i].answer);
        made_inputs_free(&jobs[i].made);
    }
    free(jobs);
}

static bool may_compile(const run_t *run) {
    return run->cores.n > 1 && !run->options->isolate && run->settings.compiled != NULL;
}

static size_t lanes_of(const run_t *run) {
    return run->cores.n < LANES_MOST ? run->cores.n : LANES_MOST;
}

static void set_turns(const run_t *run) {
    AUTO_FREE char *file = fs_join(run->workers.scratch, "turns");
    setenv(TURNS, file, 1);
}

/* ---- draws ----------------------------------------------------------------------------------- */

/* A forked process has a context after 0.3 s (H200): what takes not much longer is compiled where it is measured. */
static const double LONG_COMPILATION_NS = 1.5e9;

static compilation_t *find_draws(run_t *run, unsigned most, size_t *n) {
    size_t capacity = 0;
    compilation_t *found = NULL;
    for (unsigned draw = 2; draw <= most; draw++)
        for (run_case_t at = {0}; run_next_case(run, &at);) {
            const case_state_t *state = at.state;
            const bool is_missing = (state->drawn >> (draw - 1) & 1) == 0;
            if (state->draw == 0 || !(state->compile_ns >= LONG_COMPILATION_NS) || !is_missing ||
                state->finished != 0 || state->dropped || draw > at.sweep->measure.draws)
                continue;
            mem_grow(&found, *n, &capacity, sizeof *found);
            found[(*n)++] =
                (compilation_t){.spec = at.spec, .draw = draw, .first_ns = state->compile_ns};
        }
    return found;
}

double run_draws_compile_s(run_t *run, unsigned most) {
    size_t n_jobs = 0;
    AUTO_FREE compilation_t *jobs = may_compile(run) ? find_draws(run, most, &n_jobs) : NULL;
    double ns = 0;
    for (size_t i = 0; i < n_jobs; i++)
        ns += jobs[i].first_ns;
    return ns / 1e9;
}

void run_compile_draws(run_t *run, unsigned most) {
    if (!may_compile(run))
        return;
    lanes_t lanes = {.n = lanes_of(run)};
    lanes.jobs = find_draws(run, most, &lanes.n_jobs);
    if (lanes.n_jobs > 0) {
        set_turns(run);
        setenv(ONE_THREAD, "1", 1);
        compile_side_by_side(run, &lanes);
        unsetenv(TURNS);
        unsetenv(ONE_THREAD);
    }
    size_t n_links = 0;
    AUTO_FREE worker_link_t **links = NULL;
    for (size_t i = 0; i < lanes.n_jobs; i++)
        if (lanes.jobs[i].worker != NULL)
            worker_links_add(&links, &n_links, lanes.jobs[i].worker);
    free_jobs(lanes.jobs, lanes.n_jobs);
    worker_links_stop(links, n_links);
    free(guard_restore(run->settings.guard, NULL));
}

/* ---- with --quick ---------------------------------------------------------------------------- */

static bool compiles_groups(const run_t *run) {
    return run->options->quick && run->pair == NULL && !run->options->profile && may_compile(run);
}

void run_let_tune_in_turns(const run_t *run) {
    if (compiles_groups(run) && run->workers.scratch != NULL) /* there is a worker in Python */
        set_turns(run);
}

/* Only a running worker says what it compiles. Who opens the case reports why it does not start. */
static bool is_tuned(const run_t *run, const contender_t *c) {
    return !case_engine_is_built_in(c->result.spec.engine) &&
           worker_link_start(c->worker, run->options->timeout_s, NULL) == STATUS_OK &&
           open_request_is_tuned(c->worker->hello, &c->result.spec);
}

/* Each by the worker that measures it, which then loads what it has made. */
void trial_compile(trial_t *trial) {
    run_t *run = trial->run;
    lanes_t lanes = {.n = lanes_of(run)};
    AUTO_FREE char *no_time = run_no_time_left(run);
    if (!compiles_groups(run) || run->settings.pass > 1 || no_time != NULL)
        return;
    lanes.jobs = mem_zeroed(trial->n + 1, sizeof *lanes.jobs);
    AUTO_FREE contender_t **of = mem_zeroed(trial->n + 1, sizeof(contender_t *));
    bool several = false; /* workers: one could only compile one after another, as it opens them */
    for (size_t i = 0; i < trial->n; i++) {
        contender_t *c = &trial->contenders[i];
        if (!c->active || !is_tuned(run, c))
            continue;
        several |= lanes.n_jobs > 0 && lanes.jobs[0].worker != c->worker;
        of[lanes.n_jobs] = c;
        lanes.jobs[lanes.n_jobs++] =
            (compilation_t){.spec = &c->result.spec, .draw = 1, .worker = c->worker};
    }
    if (several)
        compile_side_by_side(run, &lanes);
    for (size_t i = 0; i < lanes.n_jobs; i++)
        of[i]->compile_ns = json_number_value(
            json_object_get(json_object_get(lanes.jobs[i].answer, "once_ns"), "compile"));
    free_jobs(lanes.jobs, lanes.n_jobs);
}
