#include "measure/contender.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/fs.h"
#include "measure/open_request.h"
#include "measure/throttling.h"
#include "model/result_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUND_MOST_SAMPLES =
        16, /* per phase: many short rounds average out drift better than few long */
    ROUND_WARMUP_SAMPLES = 3,
    ROUND_WARMUP_NS = 2000000,
    WARMUP_SAMPLES = 3,
    WARMUP_NS = 50000000,
    WARMUP_STEP_NS = 25000000,
    WARMUP_MOST_S = 3,
    LONG_ROUND_NS = 100000000,
    LONG_SAMPLE_NS = 100000000, /* one is warm-up enough; three would take longer than a round */
};

void contender_init(contender_t *c, const case_t *spec, worker_link_t *worker,
                    const program_t *program, const contender_settings_t *settings) {
    *c = (contender_t){.worker = worker, .program = program, .settings = settings, .active = true};
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
}

bool contender_drop(contender_t *c, case_status_t status, const char *reason) {
    c->active = false;
    c->result.status = status;
    free(c->result.reason);
    c->result.reason = mem_text(reason);
    if (reason != NULL)
        text_make_plain(c->result.reason);
    return false;
}

/* NULL on failure, with the contender dropped. If no answer came, the reason names the request. */
static json_t *ask(contender_t *c, json_t *request) {
    json_t *answer;
    error_t err = ERROR_INIT;
    char *op = mem_text(json_string_value(json_object_get(request, "op")));
    if (worker_link_ask(c->worker, request, c->settings->timeout_s, &answer, &err) != STATUS_OK) {
        error_within(&err, "%s", op);
        contender_drop(c, CASE_FAILED, err.text);
    } else if (!worker_answer_is_ok(answer)) {
        const char *status = json_string_value(json_object_get(answer, "status"));
        contender_drop(c, strcmp(status, "skipped") == 0 ? CASE_SKIPPED : CASE_FAILED,
                       worker_answer_reason(answer));
        json_decref(answer);
        answer = NULL;
    }
    free(op);
    return answer;
}

static json_t *request_of(const contender_t *c, const char *op) {
    return json_pack("{s:s, s:s}", "op", op, "id", c->result.spec.id);
}

static void read_once(case_result_t *result, const json_t *once) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)once, name, value) {
        if (text_is_name(name))
            result_add_once(result, name, json_number_value(value));
    }
}

/* Phase names appear in tables, charts and file formats: reject invalid ones. */
static void read_phases(contender_t *c, const json_t *phases) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)phases, name, value) {
        if (!text_is_name(name)) {
            char reason[200];
            snprintf(reason, sizeof reason, "the worker declares an invalid phase name: \"%.100s\"",
                     name);
            contender_drop(c, CASE_FAILED, reason);
            return;
        }
        clock_domain_t clock = CLOCK_HOST;
        if (json_is_string(value))
            clock_domain_parse(json_string_value(value), &clock);
        result_add_phase(&c->result, name, clock);
        result_add_phase(&c->throttled_rounds, name, clock);
        result_add_phase(&c->slow_rounds, name, clock);
    }
}

static void read_resources(contender_t *c, const json_t *json) {
    resources_t *r = &c->result.resources;
    const json_t *occupancy = json_object_get(json, "occupancy_frac");
    if (json_is_number(occupancy))
        r->occupancy_frac = json_number_value(occupancy);
    r->peak_device_bytes = json_integer_value(json_object_get(json, "peak_device_bytes"));
    if (c->program == NULL)
        return;
    free(r->arch);
    free(r->code_hash);
    r->arch = mem_text(c->program->arch);
    r->code_hash = mem_text(c->program->code_hash);
    text_list_free(&r->flags);
    for (size_t i = 0; i < c->program->flags.n; i++)
        text_list_add(&r->flags, c->program->flags.items[i]);
    r->registers = c->program->registers;
    r->shared_bytes = c->program->shared_bytes;
    r->spill_bytes = c->program->spill_bytes;
}

/* Another contender's failure may have ended the worker: then open the case again. */
static bool ensure_open(contender_t *c, bool first) {
    error_t err = ERROR_INIT;
    if (!first && c->worker->running && c->generation == c->worker->generation)
        return true;
    if (worker_link_start(c->worker, c->settings->timeout_s, &err) != STATUS_OK)
        return contender_drop(c, c->worker->declined ? CASE_SKIPPED : CASE_FAILED, err.text);
    json_t *request =
        open_request_make(&c->result.spec, c->program, c->settings->seed, c->settings->profile);
    if (c->settings->compiled != NULL && open_request_is_tuned(c->worker->hello, &c->result.spec)) {
        c->result.draw = c->draw > 0 ? c->draw : 1;
        open_request_set_cache(request, c->settings->compiled, c->result.draw);
    }
    json_t *answer = ask(c, request);
    if (answer == NULL)
        return false;
    c->generation = c->worker->generation;
    if (first) {
        read_once(&c->result, json_object_get(c->worker->hello, "once_ns"));
        read_once(&c->result, json_object_get(answer, "once_ns"));
        if (c->program != NULL && !c->program->cached)
            result_add_once(&c->result, "compile", c->program->compile_ns);
        if (!c->settings->cold)
            read_phases(c, json_object_get(answer, "phases"));
        read_resources(c, json_object_get(answer, "resources"));
        const json_t *device = json_object_get(c->worker->hello, "device");
        c->result.device.name = mem_text(json_string_value(json_object_get(device, "name")));
    }
    json_decref(answer);
    return true;
}

void contender_open(contender_t *c) {
    if (c->program != NULL && c->program->status != PROGRAM_OK)
        contender_drop(c, c->program->status == PROGRAM_SKIPPED ? CASE_SKIPPED : CASE_FAILED,
                       c->program->reason);
    else
        ensure_open(c, true);
}

bool contender_reopen(contender_t *c) {
    return ensure_open(c, false);
}

bool contender_close(contender_t *c) {
    json_t *answer = ask(c, request_of(c, "close"));
    json_decref(answer);
    return answer != NULL;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static json_t *ask_output(contender_t *c, const char *folder) {
    if (!ensure_open(c, false))
        return NULL;
    json_t *request = request_of(c, "output");
    json_object_set_new(request, "path", json_string(folder));
    return ask(c, request);
}

status_t contender_reference(contender_t *oracle, reference_t *reference, error_t *err) {
    char *folder;
    *reference = (reference_t){0};
    TRY(fs_temporary_folder(&folder, err));
    contender_open(oracle);
    json_t *answer = oracle->active ? ask_output(oracle, folder) : NULL;
    status_t status = STATUS_FAILED;
    if (answer != NULL) {
        text_list_t names = {0};
        size_t i;
        json_t *name;
        json_array_foreach(json_object_get(answer, "arrays"), i, name) {
            if (json_is_string(name))
                text_list_add(&names, json_string_value(name));
        }
        status = reference_load(folder, &names, reference, err);
        text_list_free(&names);
        json_decref(answer);
    } else {
        error_set(err, STATUS_FAILED, "%s", oracle->result.reason);
    }
    fs_remove_tree(folder, NULL);
    free(folder);
    return status;
}

void contender_check(contender_t *c, const reference_t *reference, double tolerance,
                     check_t *check) {
    char *folder, *reason = NULL;
    error_t err = ERROR_INIT;
    if (!c->active)
        return;
    if (fs_temporary_folder(&folder, &err) != STATUS_OK)
        return (void)contender_drop(c, CASE_FAILED, err.text);
    json_t *answer = ask_output(c, folder);
    if (answer != NULL) {
        verify_outputs(reference, folder, tolerance, check, &reason);
        if (!check->ok)
            contender_drop(c, CASE_WRONG, reason);
    }
    free(reason);
    json_decref(answer);
    fs_remove_tree(folder, NULL);
    free(folder);
}

bool contender_is_finished(const contender_t *c) {
    const case_result_t *result = &c->result;
    return !c->active || (result->stop != STOP_NONE && result->after.done == result->before.done);
}

/* ---- samples --------------------------------------------------------------------------------- */

typedef struct sample_limits {
    double budget_s, warmup_s;
    int max_samples, warmup_samples;
} sample_limits_t;

static json_t *ask_sample(contender_t *c, sample_limits_t limits) {
    if (!ensure_open(c, false))
        return NULL;
    return ask(c, json_pack("{s:s, s:s, s:i, s:I, s:i, s:i, s:I}", "op", "sample", "id",
                            c->result.spec.id, "round", (int)c->stopping.rounds, "budget_ns",
                            (json_int_t)(limits.budget_s * 1e9), "max_samples", limits.max_samples,
                            "warmup_samples", limits.warmup_samples, "warmup_ns",
                            (json_int_t)(limits.warmup_s * 1e9)));
}

/* The warm-up runs and the one timed run. */
static size_t count_runs(const json_t *answer) {
    const json_t *warmup = json_object_get(answer, "warmup");
    return 1 + (size_t)json_integer_value(json_object_get(warmup, "samples"));
}

void contender_warm_up(contender_t *c) {
    int64_t start_ns = clock_ns(), now_ns = start_ns;
    size_t samples = 0;
    double clock_mhz = NAN, before_mhz;
    bool settled;
    do {
        before_mhz = clock_mhz;
        /* Ask for one sample only: with a short kernel, all of them would be megabytes. */
        json_t *answer =
            ask_sample(c, (sample_limits_t){.warmup_s = c->is_long ? 0 : WARMUP_STEP_NS / 1e9,
                                            .max_samples = 1});
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
    c->result.warmup_ns = (double)(now_ns - start_ns);
    clocks_forget(&c->result.device);
}

/* Every declared phase must have at least one value, and only numbers. */
static bool add_samples(contender_t *c, case_result_t *into, const json_t *answer) {
    const json_t *phases = json_object_get(answer, "phases");
    for (size_t i = 0; i < into->n_phases; i++) {
        const json_t *array = json_object_get(phases, into->phases[i].name);
        size_t n = json_array_size(array);
        double *values = mem_zeroed(n, sizeof *values);
        bool good = n > 0;
        for (size_t k = 0; k < n; k++) {
            const json_t *value = json_array_get(array, k);
            good = good && json_is_number(value);
            values[k] = json_number_value(value);
        }
        if (good)
            phase_add_round(&into->phases[i], values, n);
        free(values);
        if (good)
            continue;
        char reason[200];
        snprintf(reason, sizeof reason, "the worker's answer has no numbers for phase \"%.100s\"",
                 into->phases[i].name);
        return contender_drop(c, CASE_FAILED, reason);
    }
    return true;
}

/* `*slow` if the core became slow during the round. In a long round it would not matter: it sees both
 * speeds. */
static json_t *sample_on_fast_core(contender_t *c, sample_limits_t limits, bool *slow) {
    cores_t *cores = strcmp(c->result.spec.device, "cpu") != 0 ? c->settings->cores : NULL;
    *slow = false;
    if (cores == NULL || !ensure_open(c, false))
        return cores == NULL ? ask_sample(c, limits) : NULL;
    const int64_t start_ns = clock_ns();
    cores_enter(cores, c->worker->child.pid);
    json_t *answer = ask_sample(c, limits);
    const bool is_short = clock_ns() - start_ns < LONG_ROUND_NS;
    *slow = !cores_leave(cores, c->worker->child.pid) && is_short;
    return answer;
}

void contender_round(contender_t *c) {
    const measure_options_t *measure = &c->settings->measure;
    const int64_t start_ns = clock_ns();
    sample_limits_t limits = {.max_samples = 1};
    if (!c->settings->profile)
        limits = (sample_limits_t){.budget_s = measure->round_s,
                                   .max_samples = ROUND_MOST_SAMPLES,
                                   .warmup_samples = c->is_long ? 1 : ROUND_WARMUP_SAMPLES,
                                   .warmup_s = ROUND_WARMUP_NS / 1e9};
    bool slow;
    json_t *answer = sample_on_fast_core(c, limits, &slow);
    if (answer == NULL)
        return;
    nvml_reading_t after = clocks_read(c->settings->nvml, &c->result);
    bool low = clocks_are_low(&after, c->settings->max_sm_mhz, c->settings->clock_is_locked);
    bool good = add_samples(c,
                            low    ? &c->throttled_rounds
                            : slow ? &c->slow_rounds
                                   : &c->result,
                            answer);
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

void contender_finish(contender_t *c) {
    if (c->worker->running && c->generation == c->worker->generation && c->generation > 0) {
        json_t *answer = NULL;
        error_t err = ERROR_INIT;
        status_t status = worker_link_ask(c->worker, request_of(c, "close"), c->settings->timeout_s,
                                          &answer, &err);
        if (status != STATUS_OK && c->active) {
            error_within(&err, "close");
            contender_drop(c, CASE_FAILED, err.text);
        }
        const json_t *results = json_object_get(answer, "results");
        if (json_object_size(results) > 0) {
            char *text = json_dumps(results, JSON_COMPACT);
            c->result.results_json = mem_text(text);
            free(text);
        }
        json_decref(answer);
    }
    slow_rounds_settle(&c->result, &c->slow_rounds, c->settings->measure.min_rounds);
    if (c->active)
        clocks_settle(&c->result, &c->throttled_rounds, c->settings->measure.min_samples);
    for (size_t i = 0; i < c->result.n_phases; i++)
        phase_summarise(&c->result.phases[i]);
}
