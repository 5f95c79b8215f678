#include "measure/trust.h"

#include "base/clock.h"
#include "base/memory.h"
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Long against the jitter of a request, short against a round. */
static const double AUDIT_NS = 2e6;
/* On a busy machine one try says little; a script that lies does so in all. */
enum { MOST_RUNS = 1 << 16, REPEATS = 3, MOST_TRIES = 3 };
/* For those runs: a script may claim that they are short. */
static const double MOST_AUDIT_NS = 50e6;

/* From here on a run is so long that a request costs nothing beside it. */
static const double LONG_NS = 20e6;

/* By the supervisor's clock; NaN if the worker has no `audit`. `*phase` is its answer's. */
static double time_runs(contender_t *c, int runs, const phase_t **phase) {
    json_t *answer;
    const int64_t start_ns = clock_ns();
    const bool answered = contender_exchange(
        c, json_pack("{s:s, s:s, s:i}", "op", "audit", "id", c->result.spec.id, "runs", runs),
        &answer);
    const double took_ns = (double)(clock_ns() - start_ns);
    const char *name = json_string_value(json_object_get(answer, "phase"));
    *phase = name != NULL ? result_phase(&c->result, name) : NULL;
    const bool good = answered && worker_answer_is_ok(answer) && *phase != NULL;
    json_decref(answer);
    return good ? took_ns : NAN;
}

/* What disturbs a request only makes it longer: the shortest of each kind counts. */
static double time_a_run(contender_t *c, double guess_ns, const phase_t **phase) {
    if (guess_ns >= LONG_NS)
        return time_runs(c, 1, phase);
    const double most = fmin(MOST_AUDIT_NS / time_runs(c, 1, phase), MOST_RUNS); /* NaN: none */
    const int runs = (int)fmax(fmin(ceil(AUDIT_NS / guess_ns), most), 1);
    double once_ns = INFINITY, twice_ns = INFINITY;
    for (int i = 0; i < REPEATS; i++) {
        const double once = time_runs(c, runs, phase);
        const double twice = isnan(once) ? NAN : time_runs(c, 2 * runs, phase);
        if (isnan(twice))
            return NAN;
        once_ns = fmin(once_ns, once);
        twice_ns = fmin(twice_ns, twice);
    }
    return (twice_ns - once_ns) / runs;
}

/* The third quartile, but near the median: that is what a script may want to be low. */
static const double MOST_SPREAD = 1.75;

static double claimed_ns(const phase_t *phase) {
    double *sorted = mem_alloc(phase->n_samples * sizeof *sorted);
    memcpy(sorted, phase->samples, phase->n_samples * sizeof *sorted);
    stats_sort(sorted, phase->n_samples);
    const double median = stats_quantile(sorted, phase->n_samples, 0.5);
    const double quartile = stats_quantile(sorted, phase->n_samples, 0.75);
    free(sorted);
    return fmin(quartile, MOST_SPREAD * median);
}

/* NaN if the worker does not answer. On a fast core, as in the rounds. */
static double compare_claims(contender_t *c, const phase_t *phase) {
    if (!contender_reopen(c))
        return NAN;
    cores_t *cores = contender_cores(c);
    const double guess_ns = stats_median(phase->samples, phase->n_samples);
    double ratio = NAN;
    if (cores != NULL)
        cores_enter(cores, c->worker->child.pid);
    for (int i = 0; i < MOST_TRIES && !claim_agrees(ratio); i++) {
        const double run_ns = time_a_run(c, guess_ns, &phase);
        if (isnan(run_ns))
            break;
        ratio = run_ns / claimed_ns(phase);
    }
    if (cores != NULL)
        cores_leave(cores, c->worker->child.pid);
    return ratio;
}

void trust_find(contender_t *c) {
    if (!c->active)
        return;
    const phase_t *phase = result_whole_phase(&c->result);
    if (case_engine_is_built_in(c->result.spec.engine))
        c->result.trust = TRUST_SEALED;
    else if (phase != NULL && phase->n_samples > 0)
        result_add_claim(&c->result, compare_claims(c, phase));
}
