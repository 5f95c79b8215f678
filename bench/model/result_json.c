#include "model/result.h"

#include "base/memory.h"
#include "io/json.h"
#include "model/case.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ==== what may not be ========================================================================= */

/* Do the parts of a result agree? A file may have been edited, or made by another program. See result.h. */

/* ---- times ----------------------------------------------------------------------------------- */

/* Parts that a sample may lack, or that are shorter than the clock shows. */
static bool may_be_zero(const case_result_t *result, const phase_t *phase) {
    static const char *const WHOLE[] = {"total", "host_to_host", "kernel", "train",
                                        "step",  "epoch",        "forward"};
    return phase->clock != CLOCK_DEVICE && phase != result_whole_phase(result) &&
           !text_is_one_of(phase->name, WHOLE, sizeof WHOLE / sizeof *WHOLE);
}

static bool may_be_negative(const phase_t *phase) {
    return strcmp(phase->name, "residual") == 0; /* what remains of `total` after its phases */
}

bool phase_can_take(const case_result_t *result, const phase_t *phase, double ns) {
    if (!isfinite(ns) || may_be_negative(phase))
        return isfinite(ns);
    return may_be_zero(result, phase) ? ns >= 0 : ns > 0;
}

static status_t check_times(const case_result_t *result, const phase_t *phase, error_t *err) {
    for (size_t i = 0; i < phase->n_samples; i++)
        if (!phase_can_take(result, phase, phase->samples[i]))
            return error_set(err, STATUS_USAGE,
                             "\"phases.%s\": sample %zu is %g, expected a time over 0", phase->name,
                             i + 1, phase->samples[i]);
    for (size_t i = 0; i < phase->n_fresh; i++)
        if (!phase_can_take(result, phase, phase->fresh[i].ns))
            return error_set(err, STATUS_USAGE,
                             "\"phases.%s.fresh\": sample %zu is %g, expected a time over 0",
                             phase->name, i + 1, phase->fresh[i].ns);
    return STATUS_OK;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Times are shown as those of a right result. */
static status_t check_outputs(const case_result_t *result, const check_t *check, const char *name,
                              error_t *err) {
    if (!check->done)
        return STATUS_OK;
    if (!check->ok && result_has_times(result))
        return error_set(err, STATUS_USAGE,
                         "\"status\" is \"%s\", but \"check.%s.ok\" is false: expected wrong or "
                         "failed",
                         case_status_name(result->status), name);
    if (check->ok && check->rel_l2 > check->tolerance) /* NaN: another rule decided */
        return error_set(err, STATUS_USAGE,
                         "\"check.%s.ok\" is true, but its \"rel_l2\" of %g is over its "
                         "\"tolerance\" of %g",
                         name, check->rel_l2, check->tolerance);
    return STATUS_OK;
}

/* ---- trust ----------------------------------------------------------------------------------- */

static status_t check_trust(const case_result_t *result, error_t *err) {
    const bool own = case_engine_is_built_in(result->spec.engine);
    if (result->trust == TRUST_SEALED && !own)
        return error_set(err, STATUS_USAGE,
                         "\"trust\" is \"sealed\", but times of engine %s are what its worker "
                         "claims: expected audited or self-reported",
                         result->spec.engine);
    if (result->trust != TRUST_AUDITED)
        return STATUS_OK;
    if (result->claims.n == 0)
        return error_set(err, STATUS_USAGE,
                         "\"trust\" is \"audited\", but \"claims\" is null: nothing was audited");
    if (!claims_agree(&result->claims))
        return error_set(err, STATUS_USAGE,
                         "\"trust\" is \"audited\", but \"claims.ratio\" is %g: expected "
                         "self-reported",
                         claims_ratio(&result->claims));
    return STATUS_OK;
}

/* Do the result's parts agree: its status with its checks, its times with what can be, its trust with its claims?
 * What this program writes does; the error names the key. */
static status_t result_check(const case_result_t *result, error_t *err) {
    TRY(check_outputs(result, &result->before, "before", err));
    TRY(check_outputs(result, &result->after, "after", err));
    TRY(check_trust(result, err));
    if (result->cpu_taken_frac < 0 || result->cpu_taken_frac > 1)
        return error_set(err, STATUS_USAGE, "\"cpu_taken_frac\" is %g, expected 0 to 1",
                         result->cpu_taken_frac);
    for (size_t i = 0; i < result->n_phases; i++)
        TRY(check_times(result, &result->phases[i], err));
    return STATUS_OK;
}

/* ==== writing ================================================================================= */

/* JSON has no NaN: unknown numbers are null. */
static json_t *number(double value) {
    if (!isfinite(value))
        return json_null();
    if (value == floor(value) && fabs(value) < 9e15)
        return json_integer((json_int_t)value);
    return json_real(value);
}

static json_t *pair(const double values[2]) {
    return json_pack("[o, o]", number(values[0]), number(values[1]));
}

static json_t *check_to_json(const check_t *check) {
    if (!check->done)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "rel_l2", number(check->rel_l2),
                     "row_rel_l2", number(check->row_rel_l2), "column_rel_l2",
                     number(check->column_rel_l2), "max_abs", number(check->max_abs), "tolerance",
                     number(check->tolerance), "ok", check->ok);
}

static json_t *integers(const size_t *values, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_integer((json_int_t)values[i]));
    return list;
}

static json_t *numbers(const double *values, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, number(values[i]));
    return list;
}

static void add_fresh(const phase_t *phase, json_t *json) {
    if (phase->n_fresh == 0)
        return;
    json_t *fresh = json_array(), *waited = json_array();
    for (size_t i = 0; i < phase->n_fresh; i++) {
        json_array_append_new(fresh, number(phase->fresh[i].ns));
        json_array_append_new(waited, number(phase->fresh[i].waited_ns));
    }
    json_object_set_new(json, "fresh", fresh);
    json_object_set_new(json, "fresh_waited", waited);
    if (phase->n_rewritten > 0)
        json_object_set_new(json, "rewritten", numbers(phase->rewritten, phase->n_rewritten));
}

static void add_passes(const phase_t *phase, json_t *json) {
    const bimodal_t *two = &phase->bimodal;
    const double error_frac =
        phase->n_passes == 1 ? sqrt(phase_pass(phase, 0).variance_log) : (double)NAN;
    json_object_set_new(json, "error_frac", number(error_frac));
    json_object_set_new(json, "ci95", pair(phase->summary.ci95));
    json_object_set_new(json, "bimodal",
                        two->found
                            ? json_pack("{s:o, s:o, s:o}", "low", number(two->low), "high",
                                        number(two->high), "share_high", number(two->share_high))
                            : json_null());
    json_object_set_new(json, "pass_starts", integers(phase->pass_starts, phase->n_passes + 1));
}

static json_t *phase_to_json(const phase_t *phase) {
    const summary_t *s = &phase->summary;
    json_t *json =
        json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "clock",
                  clock_domain_name(phase->clock), "unit", PHASE_UNIT, "n", (json_int_t)s->n,
                  "median", number(s->median), "q25", number(s->q25), "q75", number(s->q75), "p5",
                  number(s->p5), "p95", number(s->p95), "p99", number(s->p99), "min",
                  number(s->min), "max", number(s->max), "mad", number(s->mad), "n_throttled",
                  (json_int_t)phase->n_throttled, "n_slow_core", (json_int_t)phase->n_slow_core);
    add_passes(phase, json);
    json_object_set_new(json, "round_starts", integers(phase->round_starts, phase->n_rounds + 1));
    json_object_set_new(json, "samples", numbers(phase->samples, phase->n_samples));
    add_fresh(phase, json);
    return json;
}

static json_t *flags_to_json(const flag_list_t *flags) {
    json_t *json = json_array();
    for (size_t i = 0; i < flags->n; i++) {
        AUTO_FREE char *text = flag_text(&flags->items[i]);
        json_array_append_new(json, json_text(text));
    }
    return json;
}

static json_t *resources_to_json(const resources_t *r) {
    return json_pack("{s:o, s:I, s:I, s:I, s:o, s:o, s:I, s:o}", "arch", json_text(r->arch),
                     "registers", (json_int_t)r->registers, "shared_bytes",
                     (json_int_t)r->shared_bytes, "spill_bytes", (json_int_t)r->spill_bytes,
                     "code_hash", json_text(r->code_hash), "flags", json_texts(&r->flags),
                     "peak_device_bytes", (json_int_t)r->peak_device_bytes, "occupancy_frac",
                     number(r->occupancy_frac));
}

static json_t *sanitize_to_json(const sanitize_t *sanitize) {
    if (sanitize->tools.n == 0)
        return json_null();
    json_t *tools = json_object();
    for (size_t i = 0; i < sanitize->tools.n; i++)
        json_object_set_new(tools, sanitize->tools.items[i],
                            json_text(sanitize->verdicts.items[i]));
    return json_pack("{s:o, s:o, s:o}", "version", json_text(sanitize->version), "case",
                     json_text(sanitize->example), "tools", tools);
}

static json_t *limit_to_json(const limit_t *limit) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "bytes", number(limit->bytes), "flops",
                     number(limit->flops), "bound", json_text(limit->bound), "limit_ns",
                     number(limit->limit_ns), "frac", number(limit->frac), "phase",
                     json_text(limit->phase));
}

static json_t *device_to_json(const device_state_t *device) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", json_text(device->name), "sm_mhz",
                     pair(device->sm_mhz), "power_w", pair(device->power_w), "temperature_c",
                     pair(device->temperature_c), "throttle", json_texts(&device->throttle));
}

static json_t *claims_to_json(const claims_t *claims) {
    return claims->n == 0 ? json_null()
                          : json_pack("{s:i, s:o}", "n", (int)claims->n, "ratio",
                                      number(claims_ratio(claims)));
}

static json_t *draws_to_json(const case_result_t *result) {
    json_t *list = json_array();
    for (size_t i = 0; i < result->n_draws; i++) {
        const draw_t *draw = &result->draws[i];
        const double host_ns = draw_median(draw, "host_to_host");
        json_t *medians = json_object();
        for (size_t m = 0; m < draw->n_medians; m++)
            json_object_set_new(medians, draw->medians[m].name, number(draw->medians[m].ns));
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o}", "median_ns",
                            number(isnan(host_ns) ? draw_median(draw, "total") : host_ns),
                            "medians_ns", medians, "compile_ns", number(draw->compile_ns)));
    }
    return list;
}

json_t *result_to_json(const case_result_t *result) {
    json_t *json = json_pack("{s:i, s:o, s:o, s:I}", "schema", RESULT_SCHEMA, "pass",
                             result->pass > 0 ? json_integer(result->pass) : json_null(), "draw",
                             result->draw > 0 ? json_integer(result->draw) : json_null(), "seed",
                             (json_int_t)result->seed);
    if (result->n_draws > 0)
        json_object_set_new(json, "draws", draws_to_json(result));
    json_auto_t *spec = case_to_json(&result->spec);
    json_object_update(json, spec);
    json_t *once = json_object(), *phases = json_object();
    for (size_t i = 0; i < result->n_once; i++)
        json_object_set_new(once, result->once[i].name, number(result->once[i].ns));
    for (size_t i = 0; i < result->n_phases; i++)
        json_object_set_new(phases, result->phases[i].name, phase_to_json(&result->phases[i]));
    json_t *results =
        result->results_json != NULL ? json_loads(result->results_json, 0, NULL) : NULL;
    json_t *rest =
        json_pack("{s:s, s:o, s:o, s:{s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:s, s:o}",
                  "status", case_status_name(result->status), "reason", json_text(result->reason),
                  "flags", flags_to_json(&result->flags), "check", "before",
                  check_to_json(&result->before), "after", check_to_json(&result->after), "once_ns",
                  once, "resources", resources_to_json(&result->resources), "sanitize",
                  sanitize_to_json(&result->sanitize), "phases", phases, "results",
                  results != NULL ? results : json_object(), "limit", limit_to_json(&result->limit),
                  "device", device_to_json(&result->device), "rounds", (int)result->rounds, "stop",
                  stop_reason_name(result->stop), "warmup_ns", number(result->warmup_ns));
    json_object_set_new(rest, "worker_ns", number(result->worker_ns));
    if (isfinite(result->cpu_taken_frac))
        json_object_set_new(rest, "cpu_taken_frac", number(result->cpu_taken_frac));
    json_object_set_new(rest, "trust", json_text(trust_name(result->trust)));
    json_object_set_new(rest, "claims", claims_to_json(&result->claims));
    if (result->determinism != DETERMINISM_UNKNOWN)
        json_object_set_new(rest, "deterministic",
                            json_boolean(result->determinism == DETERMINISTIC));
    /* In a line, "device" is the state of the device; "on" is the device of the case. */
    json_object_set(json, "on", json_object_get(json, "device"));
    json_object_update(json, rest);
    json_decref(rest);
    return json;
}

/* ==== reading: this schema, or schema 1 ======================================================= */

static double get_number(const json_t *object, const char *key) {
    return json_or_nan(json_object_get(object, key));
}

static int64_t get_integer(const json_t *object, const char *key) {
    double value = get_number(object, key);
    return isfinite(value) && fabs(value) < 9e18 ? (int64_t)value : 0;
}

/* Reasons and flags quote the output of workers. */
static char *get_text(const json_t *object, const char *key) {
    return text_plain(json_string_value(json_object_get(object, key)));
}

static void get_pair(const json_t *object, const char *key, double values[2]) {
    const json_t *array = json_object_get(object, key);
    for (size_t i = 0; i < 2; i++)
        values[i] = json_or_nan(json_array_get(array, i));
}

static void get_texts(const json_t *object, const char *key, text_list_t *list) {
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(object, key), i, item) {
        if (json_is_string(item))
            text_list_take(list, text_plain(json_string_value(item)));
    }
}

static void get_flags(const json_t *object, flag_list_t *flags) {
    AUTO(text_list_free) text_list_t texts = {0};
    get_texts(object, "flags", &texts);
    for (size_t i = 0; i < texts.n; i++)
        flag_list_add_text(flags, texts.items[i]);
}

static void get_check(const json_t *object, const char *key, check_t *check) {
    const json_t *json = json_object_get(object, key);
    *check = (check_t){0};
    if (!json_is_object(json))
        return;
    *check = (check_t){
        .done = true,
        .ok = json_is_true(json_object_get(json, "ok")),
        .rel_l2 = get_number(json, "rel_l2"),
        .max_abs = get_number(json, "max_abs"),
        .tolerance = get_number(json, "tolerance"),
        .row_rel_l2 = get_number(json, "row_rel_l2"),
        .column_rel_l2 = get_number(json, "column_rel_l2"),
    };
}

typedef struct numbers {
    double *values; /* owned */
    size_t n;
} numbers_t;

static bool get_numbers(const json_t *json, numbers_t *numbers) {
    bool good = json == NULL || json_is_array(json);
    numbers->n = json_array_size(json);
    numbers->values = mem_zeroed(numbers->n, sizeof *numbers->values);
    for (size_t i = 0; i < numbers->n; i++) {
        const json_t *item = json_array_get(json, i);
        good = good && json_is_number(item);
        numbers->values[i] = json_number_value(item);
    }
    return good;
}

static status_t add_rounds(const numbers_t *starts, const numbers_t *samples, phase_t *phase,
                           error_t *err) {
    double most = (double)samples->n;
    for (size_t r = 0; r + 1 < starts->n; r++) {
        double from = starts->values[r], to = starts->values[r + 1];
        if (!(from >= 0 && to >= from && to <= most))
            return error_set(err, STATUS_USAGE, "round_starts[%zu]: %.0f … %.0f of %zu samples", r,
                             from, to, samples->n);
        phase_add_round(phase, samples->values + (size_t)from, (size_t)to - (size_t)from);
    }
    return STATUS_OK;
}

/* Without pass_starts (schema 1) all rounds are one pass. */
static status_t get_passes(const json_t *json, phase_t *phase, error_t *err) {
    const json_t *starts = json_object_get(json, "pass_starts");
    const size_t n = json_array_size(starts);
    if (n < 3)
        return STATUS_OK;
    phase->pass_starts = mem_resize(phase->pass_starts, n, sizeof *phase->pass_starts);
    json_int_t before = 0;
    for (size_t i = 0; i < n; i++) {
        const json_int_t start = json_integer_value(json_array_get(starts, i));
        if (start < before || (i == 0 && start != 0) ||
            (i == n - 1 && (size_t)start != phase->n_rounds))
            return error_set(err, STATUS_USAGE, "pass_starts[%zu]: %lld of %zu rounds", i,
                             (long long)start, phase->n_rounds);
        before = start;
        phase->pass_starts[i] = (size_t)start;
    }
    phase->n_passes = n - 1;
    return STATUS_OK;
}

static status_t get_rounds(const json_t *json, phase_t *phase, error_t *err) {
    numbers_t starts = {0}, samples = {0};
    status_t status = STATUS_OK;
    if (!get_numbers(json_object_get(json, "round_starts"), &starts) ||
        !get_numbers(json_object_get(json, "samples"), &samples))
        status = error_set(err, STATUS_USAGE, "not an array of numbers");
    else if (starts.n < 2) /* no rounds: one round of all samples */
        phase_add_round(phase, samples.values, samples.n);
    else
        status = add_rounds(&starts, &samples, phase, err);
    free(starts.values);
    free(samples.values);
    return status == STATUS_OK ? get_passes(json, phase, err) : status;
}

static void get_fresh(const json_t *json, phase_t *phase) {
    numbers_t fresh = {0}, waited = {0}, rewritten = {0};
    if (get_numbers(json_object_get(json, "fresh"), &fresh) &&
        get_numbers(json_object_get(json, "fresh_waited"), &waited))
        for (size_t i = 0; i < fresh.n; i++)
            phase_add_fresh(
                phase,
                &(fresh_sample_t){fresh.values[i], waited.n == fresh.n ? waited.values[i] : 0}, 1);
    if (get_numbers(json_object_get(json, "rewritten"), &rewritten))
        phase_add_rewritten(phase, rewritten.values, rewritten.n);
    free(fresh.values);
    free(waited.values);
    free(rewritten.values);
}

/* What readers compare by must be what the samples say. */
static status_t check_summary(const json_t *json, const phase_t *phase, error_t *err) {
    const summary_t *s = &phase->summary;
    if (phase->n_samples == 0 || phase->n_passes > 1)
        return STATUS_OK;
    if (json_object_get(json, "n") != NULL && s->n != phase->n_samples)
        return error_set(err, STATUS_USAGE, "\"n\" is %zu, but there are %zu samples", s->n,
                         phase->n_samples);
    const double median = stats_median(phase->samples, phase->n_samples);
    return isnan(s->median) || fabs(s->median - median) <= 1e-9 * fabs(median)
               ? STATUS_OK
               : error_set(err, STATUS_USAGE,
                           "\"median\" is %.15g, but that of its samples is %.15g", s->median,
                           median);
}

static status_t get_phases(const json_t *json, case_result_t *result, error_t *err) {
    const char *name;
    json_t *item;
    json_object_foreach(json_object_get(json, "phases"), name, item) {
        clock_domain_t clock;
        if (!text_is_plain(name))
            return error_set(err, STATUS_USAGE,
                             "\"phases.%.100s\": found control characters, expected none", name);
        const char *clock_name = json_string_value(json_object_get(item, "clock"));
        if (clock_name == NULL || !clock_domain_parse(clock_name, &clock))
            return error_set(err, STATUS_USAGE,
                             "\"phases.%s.clock\" is \"%s\", expected host or device", name,
                             clock_name != NULL ? clock_name : "missing");
        phase_t *phase = result_add_phase(result, name, clock);
        const char *unit = json_string_value(json_object_get(item, "unit"));
        if (unit != NULL && strcmp(unit, PHASE_UNIT) != 0)
            return error_set(err, STATUS_USAGE,
                             "\"phases.%s.unit\" is \"%s\", expected " PHASE_UNIT, name, unit);
        if (get_rounds(item, phase, err) != STATUS_OK)
            return error_within(err, "\"phases.%s\"", name);
        get_fresh(item, phase);
        phase->n_throttled = (size_t)get_integer(item, "n_throttled");
        phase->n_slow_core = (size_t)get_integer(item, "n_slow_core");
        summary_t *s = &phase->summary;
        *s = (summary_t){
            .n = (size_t)get_integer(item, "n"),
            .median = get_number(item, "median"),
            .q25 = get_number(item, "q25"),
            .q75 = get_number(item, "q75"),
            .p5 = get_number(item, "p5"),
            .p95 = get_number(item, "p95"),
            .p99 = get_number(item, "p99"),
            .min = get_number(item, "min"),
            .max = get_number(item, "max"),
            .mad = get_number(item, "mad"),
        };
        if (check_summary(item, phase, err) != STATUS_OK)
            return error_within(err, "\"phases.%s\"", name);
        if (phase->n_passes > 1)
            phase_summarise(phase);
        else /* in schema 1 an interval over samples, which does not hold for the next run */
            s->ci95[0] = s->ci95[1] = NAN;
    }
    return STATUS_OK;
}

static void get_sanitize(const json_t *json, sanitize_t *sanitize) {
    const char *tool;
    json_t *verdict;
    sanitize->version = get_text(json, "version");
    sanitize->example = get_text(json, "case");
    json_object_foreach(json_object_get(json, "tools"), tool, verdict) {
        if (!text_is_name(tool) || !json_is_string(verdict))
            continue;
        text_list_add(&sanitize->tools, tool);
        text_list_take(&sanitize->verdicts, text_plain(json_string_value(verdict)));
    }
}

static void get_details(const json_t *json, case_result_t *result) {
    get_flags(json, &result->flags);
    get_check(json_object_get(json, "check"), "before", &result->before);
    get_check(json_object_get(json, "check"), "after", &result->after);
    const json_t *deterministic = json_object_get(json, "deterministic");
    if (json_is_boolean(deterministic))
        result->determinism = json_is_true(deterministic) ? DETERMINISTIC : NONDETERMINISTIC;
    const char *name;
    json_t *item;
    json_object_foreach(json_object_get(json, "once_ns"), name, item) {
        AUTO_FREE char *shown = text_plain(name);
        result_add_once(result, shown, json_number_value(item));
    }
    const json_t *r = json_object_get(json, "resources");
    result->resources = (resources_t){
        .arch = get_text(r, "arch"),
        .registers = get_integer(r, "registers"),
        .shared_bytes = get_integer(r, "shared_bytes"),
        .spill_bytes = get_integer(r, "spill_bytes"),
        .code_hash = get_text(r, "code_hash"),
        .peak_device_bytes = get_integer(r, "peak_device_bytes"),
        .occupancy_frac = get_number(r, "occupancy_frac"),
    };
    get_texts(r, "flags", &result->resources.flags);
    get_sanitize(json_object_get(json, "sanitize"), &result->sanitize);
    const json_t *l = json_object_get(json, "limit");
    result->limit = (limit_t){
        .bytes = get_number(l, "bytes"),
        .flops = get_number(l, "flops"),
        .bound = get_text(l, "bound"),
        .limit_ns = get_number(l, "limit_ns"),
        .frac = get_number(l, "frac"),
        .phase = get_text(l, "phase"),
    };
    const json_t *d = json_object_get(json, "device");
    if (json_is_object(d)) {
        result->device.name = get_text(d, "name");
        get_pair(d, "sm_mhz", result->device.sm_mhz);
        get_pair(d, "power_w", result->device.power_w);
        get_pair(d, "temperature_c", result->device.temperature_c);
        get_texts(d, "throttle", &result->device.throttle);
    }
    const json_t *own = json_object_get(json, "results");
    if (json_object_size(own) > 0)
        result->results_json = json_dumps(own, JSON_COMPACT);
    result->rounds = (unsigned)get_integer(json, "rounds");
    result->warmup_ns = get_number(json, "warmup_ns");
    result->worker_ns = get_number(json, "worker_ns");
    result->cpu_taken_frac = get_number(json, "cpu_taken_frac");
}

static status_t read_result(const json_t *json, case_result_t *result, error_t *err) {
    const char *status = json_string_value(json_object_get(json, "status"));
    if (status == NULL || !case_status_parse(status, &result->status))
        return error_set(err, STATUS_USAGE,
                         "\"status\" is \"%s\", expected ok, skipped, wrong, failed, "
                         "throttled or implausible",
                         status != NULL ? status : "missing");
    const char *stop = json_string_value(json_object_get(json, "stop"));
    if (stop != NULL && !stop_reason_parse(stop, &result->stop))
        return error_set(err, STATUS_USAGE,
                         "\"stop\" is \"%s\", expected precise, spread, noise_floor, most_rounds, "
                         "time_limit, fixed_count, single or none",
                         stop);
    const char *trust = json_string_value(json_object_get(json, "trust"));
    if (trust != NULL && !trust_parse(trust, &result->trust))
        return error_set(err, STATUS_USAGE,
                         "\"trust\" is \"%s\", expected sealed, audited or self-reported", trust);
    result->reason = get_text(json, "reason");
    const json_t *claims = json_object_get(json, "claims");
    if (json_is_object(claims))
        result->claims = (claims_t){.n = 1, .ratios = {get_number(claims, "ratio")}};
    get_details(json, result);
    TRY(get_phases(json, result, err));
    return result_check(result, err);
}

status_t result_from_json(const json_t *json, case_result_t *result, error_t *err) {
    if (!json_is_object(json))
        return error_set(err, STATUS_USAGE, "not a JSON object");
    json_int_t schema = json_integer_value(json_object_get(json, "schema"));
    if (schema < RESULT_OLDEST_SCHEMA || schema > RESULT_SCHEMA)
        return error_set(err, STATUS_USAGE,
                         "\"schema\" is %lld, this program reads schemas %d to %d",
                         (long long)schema, RESULT_OLDEST_SCHEMA, RESULT_SCHEMA);
    const json_int_t pass = schema == 1 ? 1 : json_integer_value(json_object_get(json, "pass"));
    const json_int_t draw = json_integer_value(json_object_get(json, "draw"));
    if (draw < 0 || draw > MOST_DRAWS)
        return error_set(err, STATUS_USAGE, "\"draw\" is %lld, expected a number from 1 to %d",
                         (long long)draw, MOST_DRAWS);
    if (pass < (draw > 0 ? 0 : 1) || pass > STATS_MOST_PASSES)
        return error_set(err, STATUS_USAGE, "\"pass\" is %lld, expected a number from 1 to %d",
                         (long long)pass, STATS_MOST_PASSES);
    case_t spec;
    TRY(case_from_json(json, &spec, err));
    status_t status = case_check_id(&spec, err);
    if (status == STATUS_OK)
        result_init(result, &spec);
    case_free(&spec);
    TRY(status);
    result->pass = (unsigned)pass;
    result->draw = (unsigned)draw;
    result->seed = (uint64_t)json_integer_value(json_object_get(json, "seed"));
    status = read_result(json, result, err);
    if (status != STATUS_OK)
        result_free(result);
    return status;
}

status_t result_from_text(const char *line, size_t length, case_result_t *result, error_t *err) {
    json_error_t where;
    json_t *json = json_loadb(line, length, JSON_REJECT_DUPLICATES, &where);
    if (json == NULL)
        return error_set(err, STATUS_USAGE, "not a JSON object: %s (column %d)", where.text,
                         where.column);
    const status_t status = result_from_json(json, result, err);
    json_decref(json);
    return status;
}
