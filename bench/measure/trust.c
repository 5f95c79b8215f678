#include "measure/contender.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"
#include "stats/passes.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <string.h>

static bool runs_code(const contender_t *c) {
    return c->program != NULL && c->program->is_object;
}

/* Long against the jitter of a request, short against a round. */
static const double AUDIT_NS = 2e6;
enum { MOST_RUNS = 1 << 16, REPEATS = 3 };
/* For those runs: a script may claim that they are short. */
static const double MOST_AUDIT_NS = 50e6;

/* On a busy machine an audit takes its turns with other processes, while short rounds after a pause do
 * not. So a try that does not agree is followed by others, with a pause before each request, twice as
 * long in each try: three tries at least, more until so much time is spent. */
static const double FIRST_PAUSE_NS = 2e6, PATIENCE_NS = 1e9;
enum { LEAST_TRIES = 3 };

/* From here on a run is so long that a request costs nothing beside it. But copying start weights before
 * the runs may: if the time of one request does not agree, the difference of two counts, as for others,
 * of requests up to so long. */
static const double LONG_NS = 20e6, MOST_LONG_AUDIT_NS = 1e9;

/* What disturbs a request only makes it longer: the shortest of each kind counts, of all tries. But what it costs beside
 * its runs differs, too, and one that was cheap would make the difference to the longer ones too large for ever: where a
 * quarter of each kind was shorter counts as well. */
enum { MOST_TIMES = 64 }; /* of each kind; after a second of pauses there are fewer */
typedef struct audit_times {
    const phase_t *phase; /* the one audited */
    bool asked;           /* for by its name: it is not that of a whole sample */
    double guess_ns;      /* of a run */
    int runs;             /* of a request; 0: not chosen yet */
    double pause_ns;      /* before a request */
    double calls;         /* of the phase, in a run */
    double one_ns;        /* the shortest request of one run */
    /* Requests of so many, of twice so many, from the shortest on. */
    double once_ns[MOST_TIMES], twice_ns[MOST_TIMES];
    size_t n_times;
} audit_times_t;

/* Why nobody can confirm its times: for the user, who can change that. */
static void note_no_audit(contender_t *c, const json_t *answer) {
    const char *reason = json_string_value(json_object_get(answer, "reason"));
    if (reason == NULL || !text_is_plain(reason))
        return;
    AUTO_FREE char *text = mem_format("trust: no audit: %.200s", reason);
    AUTO(flag_list_free) flag_list_t found = {0};
    flag_list_add(&found, FLAG_OTHER, text, NAN, NAN);
    flag_list_merge(&c->result.flags, &found); /* a try may have said so */
}

/* By the supervisor's clock; NaN if the worker has no `audit`, or not of that phase: what is compared could
 * be another claim than what is audited. */
static double time_runs(contender_t *c, int runs, audit_times_t *times) {
    json_auto_t *answer = NULL;
    if (times->pause_ns > 0)
        clock_sleep_ns((int64_t)times->pause_ns);
    json_t *request =
        json_pack("{s:s, s:s, s:i}", "op", "audit", "id", c->result.spec.id, "runs", runs);
    if (times->asked)
        json_object_set_new(request, "phase", json_string(times->phase->name));
    const int64_t start_ns = clock_ns();
    const bool answered = contender_exchange(c, request, &answer);
    const double took_ns = (double)(clock_ns() - start_ns);
    const char *name = json_string_value(json_object_get(answer, "phase"));
    const bool good = answered && worker_answer_is_ok(answer) && name != NULL &&
                      strcmp(name, times->phase->name) == 0;
    const double calls = json_number_value(json_object_get(answer, "calls"));
    times->calls = calls > 1 ? calls : 1;
    if (!good)
        note_no_audit(c, answer);
    return good ? took_ns : NAN;
}

/* Of the time of a request, so much at most is no run: a script that makes the shorter of two requests longer would
 * make their difference as small as it likes. */
static const double MOST_COST_FRAC = 0.25;

/* So many that the last try's requests would have had no more than that beside their runs: a script may copy its
 * inputs first. That is in a request of one run, too, unlike what other processes do. 0: nothing is known yet. */
static double runs_beside_cost(const audit_times_t *times) {
    if (times->n_times == 0)
        return 0;
    const double once_ns = times->once_ns[0], twice_ns = times->twice_ns[0];
    const double run_ns = fmax((twice_ns - once_ns) / times->runs, times->guess_ns * times->calls);
    const double cost_ns = fmin(fmax(2 * once_ns - twice_ns, 0), times->one_ns);
    const double wanted_ns = cost_ns * (1 / MOST_COST_FRAC - 1);
    return fmin(2 * wanted_ns, MOST_LONG_AUDIT_NS) / (2 * run_ns);
}

/* So many runs that they are long, but no longer than MOST_AUDIT_NS by the shortest request so far of one
 * run. Chosen in each try: a disturbed first request would leave too few for all. */
static void choose_runs(contender_t *c, audit_times_t *times) {
    times->one_ns = fmin(times->one_ns, time_runs(c, 1, times));
    const double most = fmin(MOST_AUDIT_NS / times->one_ns, MOST_RUNS);
    const double wanted =
        fmax(fmin(ceil(AUDIT_NS / times->guess_ns), most), runs_beside_cost(times));
    const int runs = (int)fmax(fmin(wanted, MOST_RUNS), 1);
    if (runs < 2 * times->runs)
        return;
    times->runs = runs;
    times->n_times = 0;
}

/* False if the worker did not answer. */
static bool keep_shorter(double *shortest_ns, double ns) {
    *shortest_ns = fmin(*shortest_ns, ns);
    return !isnan(ns);
}

/* The first try of long runs. Further ones have so many that those take as long as what comes before. */
static double time_a_long_run(contender_t *c, audit_times_t *times) {
    const double ns = time_runs(c, 1, times);
    const double most = MOST_LONG_AUDIT_NS / ns;
    if (most >= 1)
        times->runs = (int)fmin(ceil(ns / times->guess_ns), most);
    return ns;
}

/* By the requests that are longer than so large a part of their kind. */
static double run_by_quantile(const audit_times_t *times, double q) {
    const double once_ns = stats_quantile(times->once_ns, times->n_times, q);
    const double twice_ns = stats_quantile(times->twice_ns, times->n_times, q);
    return fmax((twice_ns - once_ns) / times->runs,
                (1 - MOST_COST_FRAC) * twice_ns / (2 * times->runs));
}

/* One more try; the time of a run by all of them, or NaN. */
static double time_a_run(contender_t *c, audit_times_t *times) {
    if (times->runs == 0 && times->guess_ns >= LONG_NS)
        return time_a_long_run(c, times);
    if (times->guess_ns < LONG_NS)
        choose_runs(c, times);
    for (int i = 0; i < REPEATS && times->n_times < MOST_TIMES; i++) {
        const double once_ns = time_runs(c, times->runs, times);
        const double twice_ns = isnan(once_ns) ? NAN : time_runs(c, 2 * times->runs, times);
        if (isnan(twice_ns))
            return NAN;
        times->once_ns[times->n_times] = once_ns;
        times->twice_ns[times->n_times++] = twice_ns;
    }
    stats_sort(times->once_ns, times->n_times);
    stats_sort(times->twice_ns, times->n_times);
    return fmin(run_by_quantile(times, 0), run_by_quantile(times, 0.25));
}

/* The third quartile, but near the median: that is what a script may want to be low. */
static const double MOST_SPREAD = 1.75;

static double claimed_of(const phase_t *phase) {
    AUTO_FREE double *sorted = mem_alloc(phase->n_samples * sizeof *sorted);
    memcpy(sorted, phase->samples, phase->n_samples * sizeof *sorted);
    stats_sort(sorted, phase->n_samples);
    const double median = stats_quantile(sorted, phase->n_samples, 0.5);
    const double quartile = stats_quantile(sorted, phase->n_samples, 0.75);
    return fmin(quartile, MOST_SPREAD * median);
}

const phase_t *trust_audited_phase(const case_result_t *result) {
    static const char *const NAMES_OF_WHOLES[] = {"host_to_host", "train", "batch", "total"};
    for (size_t i = 0; i < sizeof NAMES_OF_WHOLES / sizeof *NAMES_OF_WHOLES; i++) {
        const phase_t *phase = result_phase(result, NAMES_OF_WHOLES[i]);
        if (phase != NULL && phase->n_samples > 0)
            return phase;
    }
    return NULL;
}

double trust_claimed_ns(const case_result_t *result, const phase_t *audited) {
    const workload_t *workload = workload_find(result->spec.workload);
    const phase_t *step = result_phase(result, "step");
    const double whole_ns = claimed_of(audited);
    if (workload == NULL || workload->compared_by == NULL ||
        strcmp(workload->compared_by, PHASE_STEP) != 0 || step == NULL || step->n_samples == 0)
        return whole_ns;
    return fmin(whole_ns, (double)workload->sample_steps(&result->spec) * claimed_of(step));
}

/* The ratio of the first try that agrees, else of the last; NaN if the worker does not answer. */
static double try_until_it_agrees(contender_t *c, const phase_t *phase, bool asked) {
    audit_times_t times = {.phase = phase,
                           .asked = asked,
                           .guess_ns = stats_median(phase->samples, phase->n_samples),
                           .one_ns = INFINITY};
    const int64_t start_ns = clock_ns();
    double ratio = NAN;
    for (int tries = 0; tries < LEAST_TRIES || (double)(clock_ns() - start_ns) < PATIENCE_NS;
         tries++) {
        const double run_ns = time_a_run(c, &times);
        ratio = isnan(run_ns) ? NAN : run_ns / times.calls / trust_claimed_ns(&c->result, phase);
        if (isnan(ratio) || claim_agrees(ratio))
            break;
        times.pause_ns = fmax(2 * times.pause_ns, FIRST_PAUSE_NS);
    }
    return ratio;
}

/* ---- on new inputs ----------------------------------------------------------------------------- */

/* The shortest requests of one run, on inputs that the contender has not seen and on the same again. */
typedef struct new_inputs {
    double once_ns, again_ns;
    double run_ns, most_ns; /* of a run on new ones: it takes about that, and that is plausible */
    double pause_ns;        /* before a refill: right before a request, its core would sleep */
} new_inputs_t;

/* False if the worker did not answer. */
static bool time_new_inputs(contender_t *c, audit_times_t *times, double claimed_ns,
                            new_inputs_t *found) {
    clock_sleep_ns((int64_t)found->pause_ns);
    found->pause_ns = fmax(2 * found->pause_ns, FIRST_PAUSE_NS);
    if (!contender_refill(c, secret_seed(), false) ||
        !keep_shorter(&found->once_ns, time_runs(c, 1, times)))
        return false;
    found->run_ns = found->once_ns;
    found->most_ns = implausible_from_ns(&c->result, times->phase);
    if (found->run_ns <= found->most_ns) /* a long one */
        return true;
    if (!keep_shorter(&found->again_ns, time_runs(c, 1, times)))
        return false;
    found->run_ns = claimed_ns + found->once_ns - found->again_ns;
    /* What a request costs beside its run differs from one to the next. */
    found->most_ns += MOST_COST_FRAC * fmax(found->again_ns - claimed_ns, 0);
    return true;
}

/* Clocks in its process may say what the contender likes, of samples on new inputs, too. This one sees what results that it
 * keeps save, in those of several tries that nothing disturbs. `ratio`, if that is plausible. */
static double compare_new_inputs(contender_t *c, const phase_t *phase, double ratio) {
    audit_times_t times = {.phase = phase};
    new_inputs_t found = {.once_ns = INFINITY, .again_ns = INFINITY, .run_ns = INFINITY};
    const double claimed_ns = trust_claimed_ns(&c->result, phase);
    const int64_t start_ns = clock_ns();
    for (int tries = 0; found.run_ns > found.most_ns &&
                        (tries < LEAST_TRIES || (double)(clock_ns() - start_ns) < PATIENCE_NS);
         tries++)
        if (!time_new_inputs(c, &times, claimed_ns, &found))
            return NAN;
    if (!contender_refill(c, 0, false))
        return NAN;
    return found.run_ns > found.most_ns ? found.run_ns / claimed_ns : ratio;
}

/* As far as this pass knows: the median of many may agree. */
static bool may_agree(double ratio) {
    return claims_agree(&(claims_t){.n = 1, .ratios = {ratio}});
}

/* On a fast core, as in the rounds. */
static double compare_claims(contender_t *c, const phase_t *phase, bool asked) {
    if (!contender_reopen(c))
        return NAN;
    contender_enter_core(c);
    double ratio = try_until_it_agrees(c, phase, asked);
    if (may_agree(ratio) && !asked && c->audit.expected.seed > 0)
        ratio = compare_new_inputs(c, phase, ratio);
    contender_leave_core(c);
    return ratio;
}

static bool is_compared_by_call(const case_result_t *result) {
    const char *by = workload_find(result->spec.workload)->compared_by;
    return by != NULL && strcmp(by, COMPUTATION) == 0;
}

/* The call by which cases are compared: audited like the whole, unless the device's clock took it, one by one, which the
 * host's cannot confirm. */
static const phase_t *audited_call(const contender_t *c) {
    if (!is_compared_by_call(&c->result) || c->audit.n_phases < 2)
        return NULL;
    const phase_t *phase = result_phase(&c->result, c->audit.phases[1].name);
    const bool of_graph =
        strcmp(phase->name, "forward_graph") == 0 || strcmp(phase->name, "kernel_graph") == 0;
    return of_graph || phase->clock == CLOCK_HOST ? phase : NULL;
}

/* Of two that are audited, the one that does not agree, or is nearer to that. */
static void add_claims(contender_t *c, const phase_t *whole) {
    const bool blind = is_compared_by_call(&c->result) && !contender_may_ask(c, "phase");
    double ratio = blind ? NAN : compare_claims(c, whole, false);
    const phase_t *call = audited_call(c);
    if (may_agree(ratio) && c->active && call != NULL) {
        const double of_call = compare_claims(c, call, true);
        ratio = !may_agree(of_call) ? of_call : fmax(ratio, of_call);
    }
    result_add_claim(&c->result, ratio);
}

void trust_find(contender_t *c) {
    if (!c->active)
        return;
    const spent_on_t before = spent_switch(c->settings->spent, SPENT_AUDIT);
    const phase_t *phase = trust_audited_phase(&c->result);
    if (case_engine_is_built_in(c->result.spec.engine) && !runs_code(c))
        c->result.trust = TRUST_SEALED;
    else if (phase != NULL)
        add_claims(c, phase);
    spent_switch(c->settings->spent, before);
    result_distrust(&c->result);
}
