#include "measure/contender.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/secret.h"
#include "measure/samples.h"
#include "measure/throttling.h"
#include "model/implausible.h"
#include "model/result_json.h"
#include "worker/run_queue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    DOUBT_MOST_S = 10,
};

void contender_init(contender_t *c, const case_t *spec, worker_link_t *worker,
                    const program_t *program, const contender_settings_t *settings) {
    *c = (contender_t){.worker = worker,
                       .program = program,
                       .settings = settings,
                       .active = true,
                       .may_retry = !settings->cold}; /* a cold sample is one process */
    result_init(&c->result, spec);
    c->result.pass = settings->pass;
    c->result.seed = settings->seed;
    result_init(&c->throttled_rounds, spec);
    result_init(&c->slow_rounds, spec);
    stopping_init(&c->stopping, &settings->measure);
}

void contender_free(contender_t *c) {
    result_free(&c->result);
    result_free(&c->throttled_rounds);
    result_free(&c->slow_rounds);
    free(c->first_death);
}

bool contender_close(contender_t *c) {
    json_t *answer = contender_ask(c, contender_request(c, "close"));
    json_decref(answer);
    return answer != NULL;
}

/* ---- samples --------------------------------------------------------------------------------- */

bool contender_is_finished(const contender_t *c) {
    const case_result_t *result = &c->result;
    return !c->active || (result->stop != STOP_NONE && result->after.done == result->before.done);
}

typedef struct sample_limits {
    double budget_s, warmup_s;
    int max_samples, warmup_samples;
    uint64_t fresh; /* seed of the inputs of one more sample; 0: none */
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
    return contender_ask(c, request);
}

/* The warm-up runs and the one timed run. */
static size_t count_runs(const json_t *answer) {
    const json_t *warmup = json_object_get(answer, "warmup");
    return 1 + (size_t)json_integer_value(json_object_get(warmup, "samples"));
}

void contender_warm_up(contender_t *c) {
    int64_t start_ns = clock_ns(), now_ns = start_ns;
    size_t samples = 0;
    double clock_mhz = clocks_read(c->settings->nvml, &c->result).sm_mhz, before_mhz;
    bool settled;
    do {
        before_mhz = clock_mhz;
        /* Ask for one sample only: with a short kernel, all of them would be megabytes. */
        json_t *answer = ask_sample(
            c, (sample_limits_t){.warmup_s = c->is_long ? 0 : WARMUP_NS / 1e9, .max_samples = 1});
        if (answer == NULL)
            return;
        samples += count_runs(answer);
        json_decref(answer);
        c->is_long = (double)(clock_ns() - start_ns) >= (double)samples * LONG_SAMPLE_NS;
        clock_mhz = clocks_read(c->settings->nvml, &c->result).sm_mhz;
        /* Two similar readings; without a clock to read, time and count decide. */
        settled = isnan(clock_mhz) || clock_mhz <= before_mhz * 1.01;
        now_ns = clock_ns();
    } while (now_ns - start_ns < (int64_t)WARMUP_MOST_S * 1000000000 &&
             (!settled || samples < WARMUP_SAMPLES || now_ns - start_ns < WARMUP_NS));
    if (c->is_long && c->audit.round == AUDIT_LAST) /* one more round would be expensive */
        c->audit.round = (unsigned)(secret_seed() % c->settings->measure.min_rounds);
    c->result.warmup_ns = (double)(now_ns - start_ns);
    clocks_forget(&c->result.device);
}

static bool add_samples(contender_t *c, case_result_t *into, const sample_claim_t *claim) {
    char *reason = samples_add(into, claim);
    if (reason != NULL)
        contender_drop(c, CASE_FAILED, reason);
    free(reason);
    return reason == NULL;
}

cores_t *contender_cores(const contender_t *c) {
    return strcmp(c->result.spec.device, "cpu") != 0 ? c->settings->cores : NULL;
}

/* `*slow` if the core became slow during the round. In a long round it would not matter: it sees both
 * speeds. */
static json_t *sample_on_fast_core(contender_t *c, sample_limits_t limits, bool *slow) {
    cores_t *cores = contender_cores(c);
    *slow = false;
    if (cores == NULL)
        return ask_sample(c, limits);
    const int64_t start_ns = clock_ns();
    cores_enter(cores, c->worker->child.pid);
    json_t *answer = ask_sample(c, limits);
    const bool is_short = clock_ns() - start_ns < LONG_ROUND_NS;
    *slow = !cores_leave(cores, c->worker->child.pid) && is_short;
    return answer;
}

void contender_round(contender_t *c) {
    const measure_options_t *measure = &c->settings->measure;
    sample_limits_t limits = {.max_samples = 1};
    if (!c->settings->profile)
        limits = (sample_limits_t){.budget_s = measure->round_s,
                                   .max_samples = ROUND_MOST_SAMPLES,
                                   .warmup_samples = c->is_long ? 1 : ROUND_WARMUP_SAMPLES,
                                   .warmup_s = ROUND_WARMUP_NS / 1e9};
    const bool audited = c->audit.expected.seed > 0 && c->stopping.rounds == c->audit.round;
    if (c->audit.expected.seed > 0)
        limits.fresh = audited ? c->audit.expected.seed : secret_seed();
    bool slow;
    if (!contender_reopen(c))
        return;
    run_queue_t before = run_queue_read(c->worker->child.pid);
    const int64_t start_ns = clock_ns();
    json_t *answer = sample_on_fast_core(c, limits, &slow);
    const double took_ns = (double)(clock_ns() - start_ns);
    const double waited_ns = run_queue_waited_ns(&before, c->worker->child.pid);
    if (answer == NULL)
        return;
    /* The null workload makes its times up. */
    const bool made_up = strcmp(c->result.spec.engine, "null") == 0;
    const sample_claim_t claim = {.answer = answer,
                                  .most = (size_t)limits.max_samples,
                                  .fresh = limits.fresh > 0,
                                  .waited_ns = waited_ns,
                                  .took_ns = made_up ? INFINITY : took_ns};
    nvml_reading_t after = clocks_read(c->settings->nvml, &c->result);
    bool low = clocks_are_low(&after, c->settings->max_sm_mhz, c->settings->clock_is_locked);
    bool good = add_samples(c,
                            low    ? &c->throttled_rounds
                            : slow ? &c->slow_rounds
                                   : &c->result,
                            &claim);
    json_decref(answer);
    if (!good)
        return;
    double round_s = (double)(clock_ns() - start_ns) / 1e9;
    stop_reason_t stop = stopping_after_round(&c->stopping, &c->result, round_s);
    if (c->result.stop == STOP_NONE) /* else it only accompanies its paired contender */
        c->result.stop = stop;
    if (c->settings->profile)
        c->result.stop = STOP_SINGLE;
    c->result.rounds = c->stopping.rounds;
    if (audited)
        contender_check_last(c);
}

void contender_settle(contender_t *c) {
    slow_rounds_settle(&c->result, &c->slow_rounds, c->settings->measure.min_rounds);
    if (c->active)
        clocks_settle(&c->result, &c->throttled_rounds, c->settings->measure.min_samples);
}

/* A machine that interrupts two thirds of the fresh samples makes one case in five slow on all of four
 * inputs; with these rounds, one in 570. What keeps results is slow in them, too. */
static void take_doubted_rounds(contender_t *c) {
    const int64_t end_ns = clock_ns() + (int64_t)DOUBT_MOST_S * 1000000000;
    while (c->active && c->stopping.rounds < DOUBT_MOST_ROUNDS && clock_ns() < end_ns &&
           implausible_is_doubted(&c->result))
        contender_round(c);
}

void contender_audit(contender_t *c) {
    if (c->audit.expected.seed == 0)
        return;
    take_doubted_rounds(c);
    if (c->active && c->stopping.rounds <= c->audit.round) {
        c->audit.round = c->stopping.rounds;
        contender_round(c);
        take_doubted_rounds(c);
    }
}

bool contender_run_once(contender_t *c, double *run_ns) {
    json_t *answer = ask_sample(c, (sample_limits_t){.max_samples = 1});
    if (answer == NULL)
        return false;
    const json_t *phases = json_object_get(answer, "phases");
    const json_t *ns = json_array_get(json_object_get(phases, "host_to_host"), 0);
    if (ns == NULL)
        ns = json_array_get(json_object_get(phases, "total"), 0);
    bool good = json_is_number(ns);
    *run_ns = json_number_value(ns);
    json_decref(answer);
    return good || contender_drop(c, CASE_SKIPPED, "it measures neither host_to_host nor total");
}

/* Results as they are, and each of its "notes" as a flag. */
static void take_results(case_result_t *result, const json_t *results) {
    size_t i;
    json_t *note;
    if (json_object_size(results) == 0)
        return;
    char *text = json_dumps(results, JSON_COMPACT);
    result->results_json = mem_text(text);
    free(text);
    json_array_foreach(json_object_get(results, "notes"), i, note) {
        if (json_is_string(note) && text_is_plain(json_string_value(note)))
            flag_list_add(&result->flags, FLAG_OTHER, json_string_value(note), NAN, NAN);
    }
}

void contender_finish(contender_t *c) {
    if (c->worker->running && c->generation == c->worker->generation && c->generation > 0) {
        json_t *answer = NULL;
        if (c->active)
            contender_exchange(c, contender_request(c, "close"), &answer);
        else
            worker_link_ask(c->worker, contender_request(c, "close"), c->settings->timeout_s,
                            &answer, NULL);
        take_results(&c->result, json_object_get(answer, "results"));
        json_decref(answer);
    }
    if (c->first_death != NULL && c->result.status != CASE_FAILED)
        flag_list_add(&c->result.flags, FLAG_RETRIED, c->first_death, NAN, NAN);
    for (size_t i = 0; i < c->result.n_phases; i++)
        phase_summarise(&c->result.phases[i]);
}
