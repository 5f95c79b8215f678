#include "measure/trust.h"

#include "base/clock.h"
#include "base/memory.h"
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double TRUST_TOLERANCE = 0.1;

/* Long against the jitter of a request, short against a round. */
static const double AUDIT_NS = 2e6;
enum { MOST_RUNS = 1 << 16, REPEATS = 3 };

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

static claims_t ask_claims(contender_t *c) {
    const phase_t *phase = result_whole_phase(&c->result);
    double ratios[REPEATS];
    if (phase == NULL || phase->n_samples == 0)
        return (claims_t){0};
    const double guess_ns = stats_median(phase->samples, phase->n_samples);
    const int runs = (int)fmin(fmax(ceil(AUDIT_NS / guess_ns), 1), MOST_RUNS);
    const int repeats = runs > 1 ? REPEATS : 1;
    for (int i = 0; i < repeats; i++) {
        const double once_ns = time_runs(c, runs, &phase);
        const double twice_ns = isnan(once_ns) ? NAN : time_runs(c, 2 * runs, &phase);
        if (isnan(twice_ns))
            return (claims_t){.n = 1, .ratio = NAN};
        ratios[i] = (twice_ns - once_ns) / runs / stats_median(phase->samples, phase->n_samples);
    }
    const double ratio = stats_median(ratios, (size_t)repeats);
    return (claims_t){
        .n = 1, .n_agree = fabs(ratio - 1) <= TRUST_TOLERANCE ? 1 : 0, .ratio = ratio};
}

void trust_find(contender_t *c) {
    if (!c->active)
        return;
    if (case_engine_is_built_in(c->result.spec.engine))
        c->result.trust = TRUST_SEALED;
    else
        result_add_claims(&c->result, ask_claims(c));
}
