#include "measure/cold_start.h"

#include "base/clock.h"
#include "measure/schedule.h"

#include <math.h>

enum { START, OPEN, FIRST_ANSWER, TOTAL, N_PHASES };

static const char *const PHASES[N_PHASES] = {"cold_start", "cold_open", "cold_first_answer",
                                             "cold_total"};

/* One process from start to end. On failure the contender is dropped. */
static bool run_process(contender_t *c, double ns[N_PHASES]) {
    error_t err = ERROR_INIT;
    double timeout_s = c->settings->timeout_s, run_ns;
    int64_t spawned_ns = clock_ns();
    if (worker_link_start(c->worker, timeout_s, &err) != STATUS_OK)
        return contender_drop(c, CASE_FAILED, err.text);
    int64_t started_ns = clock_ns();
    if (!contender_reopen(c))
        return false;
    int64_t opened_ns = clock_ns();
    if (!contender_run_once(c, &run_ns))
        return false;
    int64_t answered_ns = clock_ns();
    if (!contender_close(c))
        return false;
    if (worker_link_leave(c->worker, timeout_s, &err) != STATUS_OK)
        return contender_drop(c, CASE_FAILED, err.text);
    int64_t ended_ns = clock_ns();
    ns[START] = (double)(started_ns - spawned_ns);
    ns[OPEN] = (double)(opened_ns - started_ns);
    ns[FIRST_ANSWER] = (double)(opened_ns - spawned_ns) + run_ns;
    ns[TOTAL] = ns[FIRST_ANSWER] + (double)(ended_ns - answered_ns);
    return true;
}

static void cold_round(contender_t *c) {
    double ns[N_PHASES];
    if (!run_process(c, ns)) {
        worker_link_stop(c->worker); /* it may still run after a "failed" answer */
        return;
    }
    for (size_t i = 0; i < N_PHASES; i++) {
        phase_start_pass(&c->result.phases[i]);
        phase_add_round(&c->result.phases[i], &ns[i], 1);
    }
    if (++c->result.rounds == c->settings->measure.passes)
        c->result.stop = STOP_FIXED_COUNT;
}

void cold_rounds(contender_t *contenders, size_t n, workers_t *workers, uint64_t seed,
                 uint32_t stream, const volatile sig_atomic_t *interrupted) {
    for (size_t i = 0; i < workers->n; i++)
        worker_link_stop(workers->items[i]);
    for (size_t i = 0; i < n; i++) {
        case_result_t *result = &contenders[i].result;
        if (!contenders[i].active)
            continue;
        for (size_t k = 0; k < N_PHASES; k++) {
            result_add_phase(result, PHASES[k], CLOCK_HOST);
            result_add_phase(&contenders[i].throttled_rounds, PHASES[k], CLOCK_HOST);
            result_add_phase(&contenders[i].slow_rounds, PHASES[k], CLOCK_HOST);
        }
        flag_list_add(&result->flags, FLAG_COLD_START, NULL, NAN, NAN);
    }
    schedule_turns(contenders, n, cold_round, seed, stream, interrupted);
}
