#include "measure/contender.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== when to stop ============================================================================ */

void stopping_init(stopping_t *stopping, const measure_options_t *measure) {
    *stopping = (stopping_t){.measure = measure, .variance_between = {NAN, NAN}};
}

measure_options_t stopping_share(const measure_options_t *measure) {
    measure_options_t share = *measure;
    const unsigned n = measure->least_passes; /* what a case that needs no more takes */
    share.time_limit_s /= n;
    share.min_samples = (measure->min_samples + n - 1) / n;
    return share;
}

const phase_t *stopping_phase(const case_result_t *result, size_t i) {
    const phase_t *graph = result_phase(result, "kernel_graph");
    if (i == 0)
        return result_whole_phase(result);
    return graph != NULL ? graph : result_compute_phase(result);
}

/* STOP_PRECISE, STOP_SPREAD, or STOP_NONE: it needs more rounds. */
static stop_reason_t decide(const phase_t *phase, double variance_between,
                            const measure_options_t *measure) {
    if (phase == NULL)
        return STOP_PRECISE;
    if (phase->n_rounds < measure->min_rounds || phase->n_samples < measure->min_samples)
        return STOP_NONE;
    const double most =
        phase->clock == CLOCK_DEVICE ? measure->device_precision_frac : measure->precision_frac;
    const stats_pass_t pass = phase_pass(phase, 0);
    /* A median of 0 (a clock with coarse steps) has no relative error. */
    const bool is_precise = isfinite(pass.log_value)
                                ? sqrt(pass.variance_log) <= most
                                : phase->samples[0] == phase->samples[phase->n_samples - 1];
    if (is_precise)
        return STOP_PRECISE;
    return stats_spread_dominates(&pass, variance_between) ? STOP_SPREAD : STOP_NONE;
}

stop_reason_t stopping_after_round(stopping_t *stopping, const case_result_t *result,
                                   double round_s) {
    const measure_options_t *measure = stopping->measure;
    stopping->spent_s += round_s;
    stopping->rounds++;
    stop_reason_t found[STOPPING_PHASES];
    for (size_t i = 0; i < STOPPING_PHASES; i++)
        found[i] = decide(stopping_phase(result, i), stopping->variance_between[i], measure);
    if (found[0] != STOP_NONE && found[1] != STOP_NONE)
        return found[0] > found[1] ? found[0] : found[1];
    const bool enough = stopping->rounds - stopping->n_void >= measure->min_rounds;
    /* A slow case may exceed the limit to reach min_rounds. */
    if (stopping->spent_s >= measure->time_limit_s * (enough ? 1 : STOPPING_PATIENCE))
        return STOP_TIME_LIMIT;
    return enough && stopping->rounds >= STOPPING_MOST_ROUNDS ? STOP_MOST_ROUNDS : STOP_NONE;
}

/* ==== a round's samples ======================================================================= */

/* The device's clock and the host's need not agree better. */
static const double CLOCKS_AGREE = 1.02;

static char *refuse_sample(const case_result_t *result, const phase_t *phase,
                           const sample_claim_t *claim, size_t at, double ns) {
    if (!phase_can_take(result, phase, ns))
        return mem_format("sample %zu of phase \"%s\" is %.3g ns: expected a time over 0", at + 1,
                          phase->name, ns);
    return ns <= claim->took_ns * CLOCKS_AGREE
               ? NULL
               : mem_format("sample %zu of phase \"%s\" is %.3g ns, but the request took %.3g ns",
                            at + 1, phase->name, ns, claim->took_ns);
}

/* The values of a phase, which the caller frees; or NULL and why not. */
static double *read_samples(const case_result_t *result, const phase_t *phase,
                            const sample_claim_t *claim, size_t *n, char **reason) {
    const bool is_whole = phase == result_whole_phase(result);
    const json_t *array = json_object_get(json_object_get(claim->answer, "phases"), phase->name);
    *n = json_array_size(array);
    *reason = NULL;
    const size_t most = claim->most + claim->fresh;
    if (*n > most) {
        *reason = mem_format("the worker answered with %zu samples of phase \"%s\": at most %zu "
                             "were asked for",
                             *n, phase->name, most);
        return NULL;
    }
    double *values = mem_zeroed(*n, sizeof *values), sum_ns = 0;
    bool numbers = *n > 0;
    for (size_t i = 0; i < *n && numbers && *reason == NULL; i++) {
        const json_t *value = json_array_get(array, i);
        numbers = json_is_number(value);
        values[i] = json_number_value(value);
        sum_ns += values[i];
        if (numbers)
            *reason = refuse_sample(result, phase, claim, i, values[i]);
    }
    if (!numbers)
        *reason = mem_format("the worker's answer has no numbers for phase \"%s\"", phase->name);
    else if (*reason == NULL && is_whole && !(sum_ns <= claim->took_ns * CLOCKS_AGREE))
        *reason = mem_format("the samples of phase \"%s\" add up to %.3g ns, but the request took "
                             "%.3g ns",
                             phase->name, sum_ns, claim->took_ns);
    if (*reason == NULL)
        return values;
    free(values);
    return NULL;
}

/* Of our own worker only: they allow fresh samples to be longer. */
static char *add_rewritten(case_result_t *into, phase_t *phase, const sample_claim_t *claim) {
    const json_t *array = json_object_get(json_object_get(claim->answer, "rewritten"), phase->name);
    char *reason = NULL;
    for (size_t i = 0; i < json_array_size(array) && reason == NULL; i++) {
        const double ns = json_number_value(json_array_get(array, i));
        reason = refuse_sample(into, phase, claim, i, ns);
        if (reason == NULL)
            phase_add_rewritten(phase, &ns, 1);
    }
    return reason;
}

char *samples_add(case_result_t *into, const sample_claim_t *claim) {
    const json_t *answered = json_object_get(claim->answer, "phases");
    for (size_t i = 0; i < into->n_phases; i++) {
        phase_t *phase = &into->phases[i];
        char *reason;
        size_t n;
        if (claim->is_probe && json_object_get(answered, phase->name) == NULL)
            continue;
        AUTO_FREE double *values = read_samples(into, phase, claim, &n, &reason);
        if (values == NULL)
            return reason;
        const bool has_fresh = claim->is_probe || (claim->fresh && n > 1);
        if (!claim->is_probe)
            phase_add_round(phase, values, n - has_fresh);
        if (has_fresh)
            phase_add_fresh(phase, &(fresh_sample_t){values[n - 1], claim->waited_ns}, 1);
        if (case_engine_is_built_in(into->spec.engine) &&
            (reason = add_rewritten(into, phase, claim)) != NULL)
            return reason;
    }
    return NULL;
}

enum {
    ROUND_MOST_SAMPLES =
        16, /* per phase: many short rounds average out drift better than few long */
    ROUND_WARMUP_SAMPLES = 3,
    ROUND_WARMUP_NS = 2000000,
    WARMUP_SAMPLES = 3,
    WARMUP_NS = 10000000,
    WARMUP_MOST_S = 3,
    LONG_ROUND_NS = 100000000,
    LONG_SAMPLE_NS = 100000000, /* one is warm-up enough; three would take longer than a round */
    DOUBT_MOST_ROUNDS = 32,
    ENOUGH_FRESH = 2, /* of a pass: if both are slow, more follow (take_doubted_rounds()) */
    FRESH_EVERY = 8,
    DOUBT_MOST_S = 10,
};

void contender_init(contender_t *c, const case_t *spec, worker_link_t *worker,
                    const program_t *program, const contender_settings_t *settings) {
    *c = (contender_t){.worker = worker,
                       .program = program,
                       .settings = settings,
                       .active = true,
                       .may_retry = true};
    result_init(&c->result, spec);
    c->result.pass = settings->pass;
    c->result.seed = settings->seed;
    result_init(&c->throttled_rounds, spec);
    result_init(&c->slow_rounds, spec);
    result_init(&c->void_rounds, spec);
    stopping_init(&c->stopping, &settings->measure);
}

/* ==== rounds ================================================================================== */

void contender_free(contender_t *c) {
    result_free(&c->result);
    result_free(&c->throttled_rounds);
    result_free(&c->slow_rounds);
    result_free(&c->void_rounds);
    free(c->first_death);
    made_inputs_leave(c->made, &c->reads);
    free(c->foul);
    free(c->void_reason);
    json_decref(c->curves);
}

/* ---- samples --------------------------------------------------------------------------------- */

static bool is_audited(const contender_t *c) {
    for (size_t i = 0; i < c->audit.n_phases; i++)
        if (!c->audit.phases[i].done)
            return false;
    return true;
}

bool contender_is_finished(const contender_t *c) {
    const case_result_t *result = &c->result;
    return !c->active || (result->stop != STOP_NONE && is_audited(c) &&
                          result->after.done == result->before.done);
}

typedef struct sample_limits {
    double budget_s, warmup_s;
    int max_samples, warmup_samples;
    uint64_t fresh; /* seed of the inputs of one more sample; 0: none */
    const char
        *phase; /* with a seed: only that sample, of what times this phase; NULL: all phases */
    bool keep;  /* what it leaves will be asked for */
} sample_limits_t;

static json_t *ask_sample(contender_t *c, sample_limits_t limits) {
    if (!contender_reopen(c))
        return NULL;
    json_t *request = json_pack("{s:s, s:s, s:i, s:I, s:i, s:i, s:I}", "op", "sample", "id",
                                c->result.spec.id, "round", (int)c->stopping.rounds, "budget_ns",
                                (json_int_t)(limits.budget_s * 1e9), "max_samples",
                                limits.max_samples, "warmup_samples", limits.warmup_samples,
                                "warmup_ns", (json_int_t)(limits.warmup_s * 1e9));
    if (limits.fresh > 0)
        json_object_set_new(request, "fresh", json_integer((json_int_t)limits.fresh));
    if (limits.phase != NULL)
        json_object_set_new(request, "phase", json_string(limits.phase));
    if (limits.keep)
        json_object_set_new(request, "keep", json_true());
    return contender_ask(c, request);
}

/* The warm-up runs and the one timed run. */
static size_t count_runs(const json_t *answer) {
    const json_t *warmup = json_object_get(answer, "warmup");
    return 1 + (size_t)json_integer_value(json_object_get(warmup, "samples"));
}

static void warm_up(contender_t *c) {
    int64_t start_ns = clock_ns(), now_ns = start_ns;
    size_t samples = 0;
    double clock_mhz = clocks_read(c->settings->nvml, &c->result).sm_mhz, before_mhz;
    bool settled;
    do {
        before_mhz = clock_mhz;
        /* Ask for one sample only: with a short kernel, all of them would be megabytes. */
        json_auto_t *answer = ask_sample(
            c, (sample_limits_t){.warmup_s = c->is_long ? 0 : WARMUP_NS / 1e9, .max_samples = 1});
        if (answer == NULL)
            return;
        samples += count_runs(answer);
        c->is_long = (double)(clock_ns() - start_ns) >= (double)samples * LONG_SAMPLE_NS;
        clock_mhz = clocks_read(c->settings->nvml, &c->result).sm_mhz;
        /* Two similar readings; without a clock to read, time and count decide. */
        settled = isnan(clock_mhz) || clock_mhz <= before_mhz * 1.01;
        now_ns = clock_ns();
    } while (now_ns - start_ns < (int64_t)WARMUP_MOST_S * 1000000000 &&
             (!settled || samples < WARMUP_SAMPLES || now_ns - start_ns < WARMUP_NS));
    for (size_t i = 0; i < c->audit.n_phases && c->is_long; i++)
        if (c->audit.phases[i].round == AUDIT_LAST) /* one more round would be expensive */
            c->audit.phases[i].round = (unsigned)(secret_seed() % c->settings->measure.min_rounds);
    c->result.warmup_ns = (double)(now_ns - start_ns);
    clocks_forget(&c->result.device);
}

/* Warm up: at least 3 samples and 20 ms, until the clock stops rising; at most 3 s. */
static void contender_warm_up(contender_t *c) {
    const spent_on_t before = spent_switch(c->settings->spent, SPENT_WARM_UP);
    warm_up(c);
    spent_switch(c->settings->spent, before);
}

static cores_t *cores_of(const contender_t *c) {
    return strcmp(c->result.spec.device, "cpu") != 0 ? c->settings->cores : NULL;
}

void contender_enter_core(contender_t *c) {
    cores_t *cores = cores_of(c);
    contender_guard(c);
    if (cores != NULL)
        cores_enter(cores, c->worker->pid);
    guard_note(c->settings->guard, c->worker);
}

bool contender_leave_core(contender_t *c) {
    cores_t *cores = cores_of(c);
    const bool is_fast = cores == NULL || cores_leave(cores, c->worker->pid);
    guard_note(c->settings->guard, c->worker);
    return is_fast;
}

/* `*slow` if the core became slow during the round. In a long round it would not matter: it sees both
 * speeds. */
static json_t *sample_on_fast_core(contender_t *c, sample_limits_t limits, bool *slow) {
    const int64_t start_ns = clock_ns();
    contender_enter_core(c);
    AUTO(bindings_free)
    bindings_t before = bindings_read(c->settings->guard != NULL ? c->worker->pid : 0);
    json_t *answer = ask_sample(c, limits);
    if (c->foul == NULL)
        c->foul = guard_compare(c->settings->guard, &before);
    const bool is_short = clock_ns() - start_ns < LONG_ROUND_NS;
    *slow = !contender_leave_core(c) && is_short;
    return answer;
}

/* A request for samples, its answer, and what the machine did meanwhile. The caller frees the answer; NULL: there
 * is none. */
typedef struct exchange {
    sample_limits_t limits;
    json_t *answer;
    double took_ns, waited_ns;
    bool slow;    /* the core */
    bool is_fair; /* it is not void */
} exchange_t;

/* False, and the round is noted as void, if another program had its hand in it. */
static bool is_fair(contender_t *c) {
    if (c->foul == NULL)
        return true;
    c->is_void = true;
    if (c->void_reason == NULL)
        c->void_reason = c->foul;
    else
        free(c->foul);
    c->foul = NULL;
    return false;
}

/* That its worker may use. */
static size_t n_cores(const contender_t *c) {
    const cores_t *cores = c->settings->cores;
    return cores != NULL && cores->n > 0 ? cores->n : (size_t)sysconf(_SC_NPROCESSORS_ONLN);
}

static void take_samples(contender_t *c, exchange_t *exchange) {
    if (!contender_have_inputs(c, exchange->limits.fresh, false) || !contender_reopen(c))
        return;
    run_queue_t before = run_queue_read(c->worker->pid);
    const int64_t start_ns = clock_ns();
    exchange->answer = sample_on_fast_core(c, exchange->limits, &exchange->slow);
    exchange->took_ns = (double)(clock_ns() - start_ns);
    made_inputs_drop(c->made, exchange->limits.fresh, &c->reads);
    const cpu_use_t use = run_queue_since(&before, c->worker->pid);
    exchange->waited_ns = use.waited_ns;
    cpu_share_add(&c->share, &use, exchange->took_ns, n_cores(c));
    exchange->is_fair = is_fair(c);
}

/* A worker that finds its own process unsound says why: then its times are its own word. */
static void note_what_is_beside(contender_t *c, const json_t *answer) {
    const char *beside = json_string_value(json_object_get(answer, "beside"));
    if (beside == NULL || !text_is_plain(beside) ||
        flag_list_find(&c->result.flags, FLAG_BESIDE) != NULL)
        return;
    flag_list_add(&c->result.flags, FLAG_BESIDE, beside, NAN, NAN);
}

static bool add_samples(contender_t *c, case_result_t *into, exchange_t *exchange) {
    const sample_claim_t claim = {.answer = exchange->answer,
                                  .most = (size_t)exchange->limits.max_samples,
                                  .fresh = exchange->limits.fresh > 0,
                                  .is_probe = exchange->limits.phase != NULL,
                                  .waited_ns = exchange->waited_ns,
                                  .took_ns = case_engine_is_built_in(c->result.spec.engine)
                                                 ? INFINITY /* null makes its times up */
                                                 : exchange->took_ns};
    AUTO_FREE char *reason = samples_add(into, &claim);
    if (reason != NULL)
        contender_drop(c, CASE_FAILED, "%s", reason);
    note_what_is_beside(c, exchange->answer);
    json_decref(exchange->answer);
    exchange->answer = NULL;
    return reason == NULL;
}

/* ---- samples on new inputs ------------------------------------------------------------------- */

static void add_audited(contender_t *c, const char *const *names, uint64_t drawn) {
    audit_t *audit = &c->audit;
    while (*names != NULL && result_phase_named(&c->result, *names) == NULL)
        names++;
    if (*names == NULL)
        return;
    const unsigned n = c->settings->measure.min_rounds, i = (unsigned)audit->n_phases++;
    audit->phases[i].name = *names;
    audit->phases[i].round =
        (drawn >> i & 1) != 0 ? AUDIT_LAST : (unsigned)((drawn >> AUDIT_MOST_PHASES) + i) % n;
}

/* Those that reports compare; of a training they are parts of the whole. */
void contender_plan_audit(contender_t *c, uint64_t drawn) {
    if (!c->active) /* it may have no worker */
        return;
    add_audited(c, NAMES("host_to_host", "train", "total"), drawn);
    if (result_phase_named(&c->result, "train") != NULL || !contender_may_ask(c, "phase"))
        return;
    add_audited(c, NAMES("kernel_graph", "forward_graph"), drawn);
    add_audited(c, NAMES("kernel", "forward_device", "forward"), drawn);
}

static bool is_due(const contender_t *c, size_t i, unsigned round) {
    return !c->audit.phases[i].done && c->audit.phases[i].round == round;
}

static void check_phase(contender_t *c, size_t i) {
    const spent_on_t before = spent_switch(c->settings->spent, SPENT_CHECK);
    contender_check_last(c, c->audit.phases[i].name);
    spent_switch(c->settings->spent, before);
    c->audit.phases[i].done = true;
}

/* A probe that times several of the phases is asked once. */
static void merge_phases(audit_t *audit, size_t i, const json_t *phases) {
    size_t n = i + 1;
    for (size_t k = i + 1; k < audit->n_phases; k++)
        if (json_object_get(phases, audit->phases[k].name) == NULL)
            audit->phases[n++] = audit->phases[k];
    audit->n_phases = n;
}

/* Where results are kept, the samples on new inputs stand out against all rounds, so few of them do; in which of the later
 * rounds there are more nobody can know. */
static bool wants_fresh(const contender_t *c, size_t i, unsigned round) {
    const phase_t *phase = result_phase(&c->result, c->audit.phases[i].name);
    return phase == NULL || phase->n_fresh < ENOUGH_FRESH || c->is_doubted || is_due(c, i, round) ||
           secret_seed() % FRESH_EVERY == 0;
}

static bool runs_object(const contender_t *c) {
    return c->program != NULL && c->program->is_object;
}

/* The seed comes after the ordinary samples. What one phase computed is of no use to the next: two that are checked have the
 * reference's seed, so another comes between them. */
static bool take_fresh(contender_t *c, case_result_t *into, size_t i, unsigned round) {
    const bool due = is_due(c, i, round);
    if (due && c->audit.has_seed && !contender_refill(c, secret_seed(), false))
        return false;
    c->audit.has_seed = due;
    exchange_t exchange = {
        .limits = {.max_samples = 1,
                   .fresh = due ? c->audit.expected.seed : secret_seed(),
                   .phase = c->audit.phases[i].name,
                   /* an object finds what its process was asked, so nothing may differ */
                   .keep =
                       case_engine_is_built_in(c->result.spec.engine) && (due || runs_object(c))}};
    const spent_on_t before = spent_switch(c->settings->spent, SPENT_FRESH);
    take_samples(c, &exchange);
    spent_switch(c->settings->spent, before);
    if (exchange.answer == NULL)
        return false;
    merge_phases(&c->audit, i, json_object_get(exchange.answer, "phases"));
    if (!add_samples(c, exchange.is_fair ? into : &c->void_rounds, &exchange))
        return false;
    if (due)
        check_phase(c, i);
    return c->active;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static sample_limits_t limits_of(const contender_t *c) {
    if (c->settings->profile)
        return (sample_limits_t){.max_samples = 1};
    return (sample_limits_t){.budget_s = c->settings->measure.round_s,
                             .max_samples = ROUND_MOST_SAMPLES,
                             .warmup_samples = c->is_long ? 1 : ROUND_WARMUP_SAMPLES,
                             .warmup_s = ROUND_WARMUP_NS / 1e9};
}

/* Where a run is long, the sample on new inputs is the only one, and the phases besides the whole have one only
 * where it is compared. So it is for a worker that cannot be asked for single phases. */
static bool take_round(contender_t *c) {
    const unsigned round = c->stopping.rounds;
    const bool audited = c->audit.expected.seed > 0 && c->audit.n_phases > 0;
    const bool at_once = audited && (c->is_long || !contender_may_ask(c, "phase"));
    const bool due = at_once && is_due(c, 0, round);
    c->audit.has_seed = at_once ? due : c->audit.has_seed;
    exchange_t exchange = {.limits = limits_of(c)};
    if (at_once)
        exchange.limits.fresh = due ? c->audit.expected.seed : secret_seed();
    take_samples(c, &exchange);
    if (exchange.answer == NULL)
        return false;
    nvml_reading_t after = clocks_read(c->settings->nvml, &c->result);
    const bool low = clocks_are_low(&after, c->settings->max_sm_mhz, c->settings->clock_is_locked);
    case_result_t *into = !exchange.is_fair ? &c->void_rounds
                          : low             ? &c->throttled_rounds
                          : exchange.slow   ? &c->slow_rounds
                                            : &c->result;
    if (!add_samples(c, into, &exchange))
        return false;
    if (due)
        check_phase(c, 0);
    for (size_t i = at_once ? 1 : 0; audited && c->active && i < c->audit.n_phases; i++)
        if ((at_once ? is_due(c, i, round) : wants_fresh(c, i, round)) &&
            !take_fresh(c, into, i, round))
            return false;
    return true;
}

void contender_round(contender_t *c) {
    const int64_t start_ns = clock_ns();
    c->is_void = false;
    const spent_on_t before = spent_switch(c->settings->spent, SPENT_SAMPLES);
    const bool taken = take_round(c);
    spent_switch(c->settings->spent, before);
    c->stopping.n_void += c->is_void;
    if (!taken)
        return;
    double round_s = (double)(clock_ns() - start_ns) / 1e9;
    stop_reason_t stop = stopping_after_round(&c->stopping, &c->result, round_s);
    if (c->result.stop == STOP_NONE) /* else it only accompanies its paired contender */
        c->result.stop = stop;
    if (c->settings->profile)
        c->result.stop = STOP_SINGLE;
    c->result.rounds = c->stopping.rounds;
}

/* Nobody can make a case look good by leaving few rounds of it. */
static void settle_void_rounds(contender_t *c) {
    const unsigned n_void = c->stopping.n_void, n = c->stopping.rounds;
    if (n_void == 0)
        return;
    flag_list_add(&c->result.flags, FLAG_VOID_ROUNDS, c->void_reason, n_void, NAN);
    if (c->active && n - n_void < c->settings->measure.min_rounds)
        contender_drop(c, CASE_FAILED, "%u of %u rounds are void: %s", n_void, n, c->void_reason);
}

void contender_settle(contender_t *c) {
    slow_rounds_settle(&c->result, &c->slow_rounds, c->settings->measure.min_rounds);
    if (c->active)
        clocks_settle(&c->result, &c->throttled_rounds, c->settings->measure.min_samples);
    settle_void_rounds(c);
    cpu_share_settle(&c->share, &c->result);
}

/* A machine that interrupts two thirds of the fresh samples makes one case in five slow on all of four
 * inputs; with these rounds, one in 570. What keeps results is slow in them, too. */
static void take_doubted_rounds(contender_t *c) {
    const int64_t end_ns = clock_ns() + (int64_t)DOUBT_MOST_S * 1000000000;
    c->is_doubted = implausible_is_doubted(&c->result);
    while (c->active && c->stopping.rounds < DOUBT_MOST_ROUNDS && clock_ns() < end_ns &&
           implausible_is_doubted(&c->result))
        contender_round(c);
}

void contender_audit(contender_t *c) {
    if (c->audit.expected.seed == 0)
        return;
    take_doubted_rounds(c);
    for (size_t i = 0; i < c->audit.n_phases && c->active; i++) {
        if (c->audit.phases[i].done)
            continue;
        c->audit.phases[i].round = c->stopping.rounds;
        contender_round(c);
        take_doubted_rounds(c);
    }
}

/* Results as they are, with the curves of a training, and each of its "notes" as a flag. */
static void take_results(case_result_t *result, const json_t *results, json_t *curves) {
    size_t i;
    json_t *note;
    json_auto_t *all = json_object();
    json_object_update(all, curves);
    json_object_update(all, (json_t *)results);
    AUTO_FREE char *text = json_object_size(all) > 0 ? json_dumps(all, JSON_COMPACT) : NULL;
    if (text != NULL)
        result->results_json = mem_text(text);
    json_array_foreach(json_object_get(results, "notes"), i, note) {
        if (json_is_string(note) && text_is_plain(json_string_value(note)))
            flag_list_add(&result->flags, FLAG_OTHER, json_string_value(note), NAN, NAN);
    }
}

void contender_finish(contender_t *c) {
    if (c->worker->running && c->generation == c->worker->generation && c->generation > 0) {
        json_auto_t *answer = NULL;
        if (c->active)
            contender_exchange(c, contender_request(c, "close"), &answer);
        else
            worker_link_ask(c->worker, contender_request(c, "close"), c->settings->timeout_s,
                            &answer, NULL);
        take_results(&c->result, json_object_get(answer, "results"), c->curves);
    }
    if (c->first_death != NULL && c->result.status != CASE_FAILED)
        flag_list_add(&c->result.flags, FLAG_RETRIED, c->first_death, NAN, NAN);
    for (size_t i = 0; i < c->result.n_phases; i++)
        phase_summarise(&c->result.phases[i]);
}

/* ==== the order of rounds ===================================================================== */

static bool is_unfinished(const contender_t *contender) {
    return contender->active && contender->result.stop == STOP_NONE;
}

static bool needs_round(const contender_t *contender) {
    return is_unfinished(contender) ||
           (contender->active && contender->paired != NULL && is_unfinished(contender->paired));
}

/* Chosen before each pass, so that paired contenders take equally many rounds. */
static bool choose(const contender_t *contenders, size_t n, bool *selected) {
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        selected[i] = needs_round(&contenders[i]);
        any = any || selected[i];
    }
    return any;
}

/* Move paired contenders next to each other, to minimise the drift between them. */
static void join_pairs(uint32_t *order, const contender_t *contenders, size_t n) {
    for (size_t i = 0; i + 1 < n; i++) {
        const contender_t *paired = contenders[order[i]].paired;
        if (paired == NULL || (i > 0 && paired == &contenders[order[i - 1]]))
            continue;
        size_t at = i + 1;
        while (at < n && &contenders[order[at]] != paired)
            at++;
        if (at == n)
            continue;
        const uint32_t moved = order[at];
        memmove(&order[i + 2], &order[i + 1], (at - i - 1) * sizeof *order);
        order[i + 1] = moved;
    }
}

/* Call `round` for every active contender in turn until its result has a stop reason. The group's
 * number `stream` varies the order. Returns early when `*interrupted` becomes non-zero. */
static void schedule_turns(contender_t *contenders, size_t n, void (*round)(contender_t *contender),
                           uint64_t seed, uint32_t stream,
                           const volatile sig_atomic_t *interrupted) {
    AUTO_FREE uint32_t *order = mem_zeroed(n, sizeof *order);
    AUTO_FREE bool *selected = mem_zeroed(n, sizeof *selected);
    for (uint32_t pass = 0; choose(contenders, n, selected) && !*interrupted; pass++) {
        if (pass % 2 == 0) {
            rng_permutation(order, n, seed + pass / 2, stream);
            join_pairs(order, contenders, n);
        }
        for (size_t i = 0; i < n && !*interrupted; i++) {
            size_t next = order[pass % 2 == 0 ? i : n - 1 - i];
            if (selected[next] && contenders[next].active)
                round(&contenders[next]);
        }
    }
}

void schedule_rounds(contender_t *contenders, size_t n, uint64_t seed, uint32_t stream,
                     const volatile sig_atomic_t *interrupted) {
    for (size_t i = 0; i < n && !*interrupted; i++)
        if (contenders[i].active && !contenders[i].settings->profile)
            contender_warm_up(&contenders[i]);
    schedule_turns(contenders, n, contender_round, seed, stream, interrupted);
}
